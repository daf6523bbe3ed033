/*cudaagent
{
  "plan": 1,
  "steps": [
    {"op": "aten::conv2d", "args": ["$x", "$conv.weight", null, [1, 1], [1, 1]], "out": "conv2d"},
    {"op": "aten::batch_norm",
     "args": ["$conv2d", "$bn.weight", "$bn.bias", "$bn.running_mean", "$bn.running_var", false,
      0.1, 1e-05, false],
     "out": "batch_norm"},
    {"op": "aten::relu", "args": ["$batch_norm"], "out": "out0"}
  ]
}
*/
// The baseline: PyTorch's own operators, no kernel of its own. Replace steps by kernels.
//   inputs: x float32 [128, 64, 112, 112]
//   parameters: conv.weight float32 [64, 64, 3, 3], bn.weight float32 [64],
//     bn.bias float32 [64], bn.running_mean float32 [64], bn.running_var float32 [64],
//     bn.num_batches_tracked int64 []
//   outputs: out0 float32 [128, 64, 112, 112]
