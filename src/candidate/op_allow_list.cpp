#include "candidate/op_allow_list.h"

#include <algorithm>

namespace cudaagent::candidate {
namespace {

// Without "aten::". Groups: what torch.export yields for KernelBench levels 1 to 3 (random numbers
// aside); what fused plans call besides; functional and in-place forms of the pointwise ones.
// Left out on purpose: random numbers, uninitialised factories, storage and file operations,
// in-place changes of shape, and whatever waits for the device to learn a result's shape.
constexpr std::string_view kOps[] = {
    // Exported by KernelBench models.
    "_assert_tensor_metadata", "abs", "adaptive_avg_pool1d", "adaptive_avg_pool2d",
    "adaptive_avg_pool3d", "add", "add_", "alias", "argmax", "argmin", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "batch_norm", "bitwise_not", "bmm", "broadcast_tensors", "cat", "clamp",
    "clamp_min", "clone", "contiguous", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "copy_", "cross_entropy_loss", "cumprod", "cumsum",
    "detach", "detach_", "div", "dropout", "einsum", "elu", "eq", "exp", "expand", "expand_as",
    "flatten", "flip", "gelu", "group_norm", "gru", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "index", "instance_norm", "kl_div", "layer_norm", "leaky_relu", "lift_fresh_copy",
    "linalg_vector_norm", "linear", "log", "log_softmax", "logsumexp", "lstm", "masked_fill",
    "matmul", "max", "max_pool1d", "max_pool2d", "max_pool3d", "mean", "min", "mish", "mul",
    "multiply", "narrow", "numpy_T", "ones", "pad", "permute", "pow", "relu", "relu_", "reshape",
    "roll", "rsub", "scaled_dot_product_attention", "select", "selu", "sigmoid", "slice",
    "smooth_l1_loss", "softmax", "softplus", "split", "sqrt", "squeeze", "stack", "sub", "sum",
    "tanh", "to", "transpose", "tril", "triplet_margin_loss", "triu", "unflatten", "unfold",
    "unsqueeze", "view", "zeros_like",
    // Products, convolutions and attention for plans that fuse around them.
    "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_flash_attention", "addbmm", "addmm", "addmv", "as_strided", "baddbmm",
    "convolution", "cudnn_convolution_add_relu", "cudnn_convolution_relu", "mm", "mv", "outer", "t",
    // Normalisation, reductions and losses.
    "_log_softmax", "_softmax", "all", "amax", "amin", "aminmax", "any", "cosine_similarity",
    "cummax", "cummin", "huber_loss", "l1_loss", "mse_loss", "native_group_norm",
    "native_layer_norm", "norm", "nll_loss", "prod", "rms_norm", "std", "topk", "sort", "argsort",
    "var", "var_mean",
    // Pointwise.
    "addcdiv", "addcmul", "atan", "bitwise_and", "bitwise_or", "bitwise_xor", "ceil", "celu",
    "clamp_max", "cos", "cosh", "divide", "erf", "erfc", "exp2", "expm1", "floor", "floor_divide",
    "fmod", "ge", "glu", "gt", "hardshrink", "heaviside", "le", "lerp", "log10", "log1p", "log2",
    "log_sigmoid", "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "maximum",
    "minimum", "ne", "neg", "prelu", "reciprocal", "relu6", "remainder", "round", "rsqrt", "sign",
    "silu", "sin", "sinh", "softshrink", "square", "subtract", "tan", "threshold", "trunc", "where",
    // Pointwise in place: on results and buffers only.
    "abs_", "ceil_", "clamp_", "clamp_max_", "clamp_min_", "div_", "elu_", "exp_", "fill_",
    "floor_", "gelu_", "hardsigmoid_", "hardswish_", "leaky_relu_", "log_", "masked_fill_", "mish_",
    "mul_", "neg_", "pow_", "reciprocal_", "rsqrt_", "selu_", "sigmoid_", "silu_", "sqrt_",
    "square_", "sub_", "tanh_", "tril_", "triu_", "zero_",
    // Shapes, gathers, constants, padding.
    "arange", "broadcast_to", "chunk", "constant_pad_nd", "diagonal", "embedding", "full",
    "full_like", "gather", "index_add", "index_select", "linspace", "movedim", "ones_like",
    "pixel_shuffle", "pixel_unshuffle", "reflection_pad1d", "reflection_pad2d", "repeat",
    "replication_pad2d", "reshape_as", "scalar_tensor", "scatter", "scatter_add",
    "split_with_sizes", "swapaxes", "tile", "unbind", "upsample_bilinear2d", "upsample_nearest2d",
    "view_as", "zeros", "adaptive_max_pool2d", "max_pool2d_with_indices",
    "max_pool3d_with_indices"};

}  // namespace

const std::vector<std::string>& AllowedOps() {
  static const std::vector<std::string> ops = [] {
    std::vector<std::string> names;
    for (const std::string_view name : kOps) names.push_back("aten::" + std::string(name));
    std::sort(names.begin(), names.end());
    return names;
  }();
  return ops;
}

bool IsAllowedOp(std::string_view op) {
  const std::vector<std::string>& ops = AllowedOps();
  return std::binary_search(ops.begin(), ops.end(), op);
}

}  // namespace cudaagent::candidate
