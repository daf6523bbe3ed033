# The report's page travels inside the program. Included by cmake/Room.cmake with ${target} set.
cudaagent_embed_texts(${target} HEADER report/embedded_page.h FUNCTION EmbeddedPage FILES src/report/page/*)
