# The prompt templates travel inside the program. Included by cmake/Room.cmake with ${target} set.
cudaagent_embed_texts(${target} HEADER prompt/embedded_templates.h FUNCTION EmbeddedTemplates
                      FILES configs/prompts/*)
