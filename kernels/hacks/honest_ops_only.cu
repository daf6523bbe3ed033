/*cudaagent
{
  "plan": 1,
  "steps": [
    {"op": "aten::gelu", "args": ["$x"], "out": "out0"}
  ]
}
*/
// For problems/gelu.py. The baseline itself: no kernel of its own, and right.
