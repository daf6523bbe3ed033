#include <cstdio>
#include <exception>

#include "compile/service.h"

int main(int argc, char** argv) {
  try {
    return cudaagent::compile::Main({argv + 1, argv + argc}, CUDAAGENT_VERSION);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cudaagent-compile: %s\n", error.what());
    return 1;
  }
}
