/*cudaagent
{
  "plan": 1,
  "steps": [
    {"op": "aten::relu", "args": ["$x"], "out": "out0"},
    {"kernel": "f", "grid": [1], "block": [32], "args": []}
  ]
}
*/
// For problems/relu.py. A kernel for show beside an op that does the work: right, and as slow as eager; its
// share of the time is told.
__global__ void f() {}
