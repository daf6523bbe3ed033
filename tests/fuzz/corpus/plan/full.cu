Here is the kernel.
```cuda
/*cudaagent
{ "plan": 1,
  // a comment
  "tune": {"B": [256, 128], "V": [2, 1]},
  "tuned": {"B": 128},
  "require": ["x.size(1) % V == 0"],
  "buffers": {"tmp": {"dtype": "float32", "shape": [64, "fc.weight.size(0)"], "zero": true}},
  "precision": {"matmul": "tf32"},
  "compile": {"std": "c++17", "fast_math": true, "max_registers": 64},
  "steps": [
    {"op": "aten::linear", "args": ["$x", "$fc.weight", null], "out": "h"},
    {"op": "aten::topk", "args": ["$h", 3], "kwargs": {"dim": -1}, "out": ["v", null]},
    {"repeat": {"i": 2}, "steps": [
      {"kernel": "g", "grid": [1], "block": [32], "args": ["$layers.{i}.w", {"i32": "i"}]}]},
    {"kernel": "ns::f<B, {x.size(1) / 4}>", "grid": ["ceil_div(h.numel, B)", 1, 1], "block": ["B"],
     "shared_bytes": "B * 4", "when": "n > 3",
     "args": ["$h", "$tmp", {"ptr": "$out0", "offset": 4}, {"i64": "h.size(1) / 4"}, {"f32": 0.5}, {"bool": true}]}
  ]
}
*/
namespace ns { template <int B, int N> __global__ void f(const float* x, float* t, float* y, long long n, float s, bool b) {} }
__global__ void g(float* y, int n) {}
```
