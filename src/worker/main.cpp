#include "worker/worker.h"

int main(int argc, char** argv) { return cudaagent::worker::RunWorker(argc, argv); }
