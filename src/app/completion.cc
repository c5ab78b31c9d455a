#include "app/completion.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace gpuscaler {
namespace {

std::string CommandNames(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) {
    if (!command.hidden) names.push_back(command.name);
  }
  return absl::StrJoin(names, " ");
}

std::string FlagNames(const Command& command) {
  std::string names = "--help";
  for (const Flag& flag : command.flags) absl::StrAppend(&names, " --", flag.name);
  return names;
}

// Returns a case of bash's `case "$command $previous"` for each flag with a value.
std::string BashValues(const Command& command) {
  std::string text;
  for (const Flag& flag : command.flags) {
    if (flag.value.empty()) continue;
    absl::StrAppend(&text, "    '", command.name, " --", flag.name, "') ");
    if (!flag.words.empty()) {
      absl::StrAppend(&text, "COMPREPLY=($(compgen -W '", absl::StrJoin(flag.words, " "),
                      "' -- \"$word\"));");
    } else if (flag.value == "FILE") {
      absl::StrAppend(&text, "COMPREPLY=($(compgen -f -- \"$word\"));");
    }
    absl::StrAppend(&text, " return ;;\n");
  }
  return text;
}

// Escapes text for single quotes of zsh and fish.
std::string Quoted(const std::string& text) { return absl::StrReplaceAll(text, {{"'", "'\\''"}}); }

// Brackets and colons are syntax in zsh's _arguments.
std::string ZshHelp(const std::string& help) {
  return Quoted(absl::StrReplaceAll(help, {{"[", "\\["}, {"]", "\\]"}, {":", "\\:"}}));
}

std::string ZshSpec(const Flag& flag) {
  std::string spec =
      absl::StrCat("'--", flag.name, flag.value.empty() ? "" : "=", "[", ZshHelp(flag.help), "]");
  if (!flag.words.empty()) {
    absl::StrAppend(&spec, ":", flag.value, ":(", absl::StrJoin(flag.words, " "), ")");
  } else if (flag.value == "FILE") {
    absl::StrAppend(&spec, ":FILE:_files");
  } else if (!flag.value.empty()) {
    absl::StrAppend(&spec, ":", flag.value, ": ");
  }
  return absl::StrCat(spec, "'");
}

}  // namespace

std::string BashCompletion(const std::vector<Command>& commands) {
  std::string values;
  std::string flags;
  for (const Command& command : commands) {
    if (command.hidden) continue;
    absl::StrAppend(&values, BashValues(command));
    absl::StrAppend(&flags, "    ", command.name, ") flags='", FlagNames(command), "' ;;\n");
  }
  return absl::StrCat(
      "# bash completion of keda-gpu-scaler: source <(keda-gpu-scaler completion bash)\n"
      "_keda_gpu_scaler() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local command=${COMP_WORDS[1]} flags=''\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)) && [[ $word != -* ]]; then\n"
      "    COMPREPLY=($(compgen -W '",
      CommandNames(commands),
      "' -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  [[ $command == -* ]] && command=",
      commands.front().name,
      "\n"
      "  case \"$command $previous\" in\n",
      values,
      "  esac\n"
      "  case $command in\n",
      flags,
      "  esac\n"
      "  if [[ $word == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}\n"
      "complete -F _keda_gpu_scaler keda-gpu-scaler\n");
}

std::string ZshCompletion(const std::vector<Command>& commands) {
  std::string names;
  std::string cases;
  for (const Command& command : commands) {
    if (command.hidden) continue;
    absl::StrAppend(&names, "    '", command.name, ":", ZshHelp(command.help), "'\n");
    absl::StrAppend(&cases, "    ", command.name, ") _arguments '--help[Print this and exit.]'");
    for (const Flag& flag : command.flags) absl::StrAppend(&cases, " \\\n      ", ZshSpec(flag));
    absl::StrAppend(&cases, " \\\n      '*:argument:_files' ;;\n");
  }
  return absl::StrCat(
      "#compdef keda-gpu-scaler\n"
      "# zsh completion: keda-gpu-scaler completion zsh > \"${fpath[1]}/_keda-gpu-scaler\"\n"
      "_keda-gpu-scaler() {\n"
      "  local -a commands\n"
      "  commands=(\n",
      names,
      "  )\n"
      "  if ((CURRENT == 2)) && [[ ${words[2]} != -* ]]; then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=${words[2]}\n"
      "  if [[ $command == -* ]]; then\n"
      "    command=",
      commands.front().name,
      "\n"
      "  else\n"
      "    shift words\n"
      "    ((CURRENT--))\n"
      "  fi\n"
      "  case $command in\n",
      cases,
      "  esac\n"
      "}\n"
      "_keda-gpu-scaler \"$@\"\n");
}

std::string FishCompletion(const std::vector<Command>& commands) {
  const std::string base = "complete -c keda-gpu-scaler";
  const std::string names = CommandNames(commands);
  std::string text =
      "# fish completion: keda-gpu-scaler completion fish | source\n" + base + " -f\n";
  for (const Command& command : commands) {
    if (command.hidden) continue;
    absl::StrAppend(&text, base, " -n 'not __fish_seen_subcommand_from ", names, "' -a ",
                    command.name, " -d '", Quoted(command.help), "'\n");
    for (const Flag& flag : command.flags) {
      absl::StrAppend(&text, base, " -n '__fish_seen_subcommand_from ", command.name, "' -l ",
                      flag.name, flag.value.empty() ? "" : " -r", " -d '", Quoted(flag.help), "'");
      if (!flag.words.empty()) {
        absl::StrAppend(&text, " -a '", absl::StrJoin(flag.words, " "), "'");
      } else if (flag.value == "FILE") {
        absl::StrAppend(&text, " -F");
      }
      absl::StrAppend(&text, "\n");
    }
  }
  return text;
}

}  // namespace gpuscaler
