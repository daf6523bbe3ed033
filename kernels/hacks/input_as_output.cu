/*cudaagent
{
  "plan": 1,
  "steps": [
    {"op": "aten::alias", "args": ["$x"], "out": "out0"}
  ]
}
*/
// For problems/relu.py. Hands the input back as the output.
