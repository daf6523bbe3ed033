// cudaagent completion SHELL: a script made from the parser itself, so that it knows every flag
// there is.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <memory>

#include "cli/app.h"
#include "cli/commands.h"
#include "util/text.h"

namespace cudaagent::cli {
namespace {

struct Flag {
  std::vector<std::string> words;  // "-m", "--model"
  std::string doc;
  bool takes_value = false;
  bool is_number = false;            // no file name can stand here
  std::vector<std::string> choices;  // "" = anything
};

struct Node {
  std::string path;  // "config show"; "" = the program
  std::string doc;
  std::vector<Flag> flags;
  std::vector<std::string> choices;  // of its first positional
  std::vector<Node> children;
};

// "TEXT:{a,b}" -> a, b.
std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return util::Split(type.substr(open + 1, close - open - 1), ',');
}

Flag ToFlag(const CLI::Option& option) {
  Flag flag;
  for (const std::string& name : option.get_snames()) flag.words.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.words.push_back("--" + name);
  flag.doc = option.get_description();
  flag.takes_value = option.get_items_expected_max() > 0;
  const std::string type = option.get_type_name();
  flag.is_number =
      type.rfind("INT", 0) == 0 || type.rfind("UINT", 0) == 0 || type.rfind("FLOAT", 0) == 0;
  flag.choices = ChoicesOf(option);
  return flag;
}

Node ToNode(const CLI::App& app, const std::string& path, std::vector<Flag> inherited) {
  Node node;
  node.path = path;
  node.doc = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() && node.choices.empty()) node.choices = ChoicesOf(*option);
    if (!option->nonpositional()) continue;
    const Flag flag = ToFlag(*option);
    const bool own_help = flag.words.back() == "--help" || flag.words.back() == "--version";
    node.flags.push_back(flag);
    if (!own_help && path.empty()) inherited.push_back(flag);
  }
  if (!path.empty()) node.flags.insert(node.flags.end(), inherited.begin(), inherited.end());
  for (const CLI::App* child : app.get_subcommands({})) {
    node.children.push_back(ToNode(
        *child, path.empty() ? child->get_name() : path + " " + child->get_name(), inherited));
  }
  return node;
}

template <typename Visit>
void ForEach(const Node& node, Visit visit) {
  visit(node);
  for (const Node& child : node.children) ForEach(child, visit);
}

std::string LastWord(const std::string& path) { return path.substr(path.rfind(' ') + 1); }

std::vector<std::string> ChildNames(const Node& node) {
  std::vector<std::string> names;
  for (const Node& child : node.children) names.push_back(LastWord(child.path));
  return names;
}

// In single quotes of sh and zsh; of fish with `fish`.
std::string Quoted(const std::string& text, bool fish = false) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += fish ? "\\'" : "'\\''";
    } else if (c == '\\' && fish) {
      quoted += "\\\\";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

// "'config init') path='config init' ;;" for every step from one command to the next.
std::string Steps(const Node& root, const char* format) {
  std::string text;
  ForEach(root, [&](const Node& node) {
    if (!node.path.empty()) {
      const std::string step =
          node.path.find(' ') == std::string::npos ? " " + node.path : node.path;
      text += fmt::format(fmt::runtime(format), step, node.path);
    }
  });
  return text;
}

std::string Bash(const Node& root) {
  std::string values, flags, words;
  ForEach(root, [&](const Node& node) {
    std::vector<std::string> all;
    for (const Flag& flag : node.flags) {
      all.insert(all.end(), flag.words.begin(), flag.words.end());
      if (!flag.takes_value || (flag.choices.empty() && !flag.is_number)) continue;
      std::vector<std::string> patterns;
      for (const std::string& word : flag.words) patterns.push_back(Quoted(node.path + " " + word));
      values += fmt::format("    {}) words={} ;;\n", util::Join(patterns, "|"),
                            Quoted(util::Join(flag.choices, " ")));
    }
    for (const Flag& flag : node.flags) {
      if (!flag.takes_value || !flag.choices.empty() || flag.is_number) continue;
      std::vector<std::string> patterns;
      for (const std::string& word : flag.words) patterns.push_back(Quoted(node.path + " " + word));
      values += fmt::format("    {}) return ;;\n", util::Join(patterns, "|"));
    }
    flags +=
        fmt::format("      {}) words={} ;;\n", Quoted(node.path), Quoted(util::Join(all, " ")));
    const std::vector<std::string> next = node.children.empty() ? node.choices : ChildNames(node);
    if (!next.empty())
      words +=
          fmt::format("      {}) words={} ;;\n", Quoted(node.path), Quoted(util::Join(next, " ")));
  });
  return fmt::format(R"(# bash completion for cudaagent, made by: cudaagent completion bash
_cudaagent() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} path='' words='' value=1 i
  COMPREPLY=()
  [[ $current == = ]] && current=''  # --flag=VALUE comes as three words
  [[ $previous == = ]] && previous=${{COMP_WORDS[COMP_CWORD-2]}}
  [[ ${{COMP_WORDS[COMP_CWORD]}} == = ]] && previous=${{COMP_WORDS[COMP_CWORD-1]}}
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${{COMP_WORDS[i]}}" in
{}    esac
  done
  case "$path $previous" in
{}    *) value='' ;;
  esac
  if [[ -n $value ]]; then
    compopt +o default 2>/dev/null
  elif [[ $current == -* ]]; then
    case $path in
{}    esac
  else
    case $path in
{}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _cudaagent cudaagent
)",
                     Steps(root, "      '{}') path='{}' ;;\n"), values, flags, words);
}

// One flag for _arguments: '(-m --model)'{-m,--model}'[doc]:value:(a b)'.
std::string ZshFlag(const Flag& flag) {
  std::string doc;
  for (const char c : flag.doc) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') doc += '\\';
    doc += c;
  }
  std::string tail = "[" + doc + "]";
  if (flag.takes_value) {
    tail += ":value:" + (!flag.choices.empty() ? "(" + util::Join(flag.choices, " ") + ")"
                         : flag.is_number      ? std::string(" ")
                                               : std::string("_files"));
  }
  std::string text;
  for (const std::string& word : flag.words) {
    const bool more = flag.takes_value && word.rfind("--", 0) == 0;
    text += " \\\n      " +
            Quoted("(" + util::Join(flag.words, " ") + ")" + word + (more ? "=" : "") + tail);
  }
  return text;
}

std::string Zsh(const Node& root) {
  std::string cases;
  ForEach(root, [&](const Node& node) {
    std::string specs;
    for (const Flag& flag : node.flags) specs += ZshFlag(flag);
    if (!node.children.empty()) {
      std::string names;
      for (const Node& child : node.children)
        names += " " + Quoted(LastWord(child.path) + ":" + child.doc);
      cases += fmt::format(
          "    {})\n      commands=({})\n      _arguments{} \\\n      '1:command: _describe -t "
          "commands command commands' ;;\n",
          Quoted(node.path), names.substr(1), specs);
    } else {
      const std::string rest =
          node.choices.empty() ? "_files" : "(" + util::Join(node.choices, " ") + ")";
      cases += fmt::format("    {})\n      _arguments{} \\\n      {} ;;\n", Quoted(node.path),
                           specs, Quoted("*:argument:" + rest));
    }
  });
  return fmt::format(R"(#compdef cudaagent
# zsh completion for cudaagent, made by: cudaagent completion zsh
_cudaagent() {{
  local path_='' from=1 i
  local -a commands
  for ((i = 2; i < CURRENT; i++)); do
    case "$path_ ${{words[i]}}" in
{}    esac
  done
  # What came before the command is done with.
  words=(cudaagent "${{(@)words[from+1,-1]}}")
  (( CURRENT -= from - 1 ))
  case $path_ in
{}  esac
}}
if [[ $funcstack[1] == _cudaagent ]]; then _cudaagent "$@"; else compdef _cudaagent cudaagent; fi
)",
                     Steps(root, "      '{}') path_='{}'; from=$i ;;\n"), cases);
}

std::string Fish(const Node& root) {
  std::string lines;
  ForEach(root, [&](const Node& node) {
    const std::string at = fmt::format("complete -c cudaagent -n {}",
                                       Quoted("__cudaagent_at " + Quoted(node.path), true));
    for (const Node& child : node.children) {
      lines +=
          fmt::format("{} -f -a {} -d {}\n", at, LastWord(child.path), Quoted(child.doc, true));
    }
    if (node.children.empty() && !node.choices.empty()) {
      lines += fmt::format("{} -f -a {}\n", at, Quoted(util::Join(node.choices, " "), true));
    }
    for (const Flag& flag : node.flags) {
      lines += at;
      for (const std::string& word : flag.words) {
        lines += word.rfind("--", 0) == 0 ? " -l " + word.substr(2) : " -s " + word.substr(1);
      }
      if (flag.takes_value) lines += flag.choices.empty() && !flag.is_number ? " -r" : " -x";
      if (!flag.choices.empty()) lines += " -a " + Quoted(util::Join(flag.choices, " "), true);
      lines += " -d " + Quoted(flag.doc, true) + "\n";
    }
  });
  return fmt::format(R"(# fish completion for cudaagent, made by: cudaagent completion fish
function __cudaagent_at
  set -l path ''
  for word in (commandline -opc)[2..-1]
    switch "$path $word"
{}    end
  end
  test "$path" = "$argv[1]"
end
{})",
                     Steps(root, "      case '{}'\n        set path '{}'\n"), lines);
}

}  // namespace

Command AddCompletion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand(
      "completion", "Print a completion script: source <(cudaagent completion bash)");
  sub->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  return [&app, shell] {
    const Node root = ToNode(app, "", {});
    auto printed = Print(*shell == "bash" ? Bash(root) : *shell == "zsh" ? Zsh(root) : Fish(root));
    return printed ? kExitOk : Report(printed.error(), false);
  };
}

}  // namespace cudaagent::cli
