import { command, exitCode, UsageError } from "#kernel/command/index.ts";

const shells = ["bash", "zsh", "fish", "powershell"] as const;

/**
 * The library's own script needs the package bash-completion and fails when sourced twice. This one joins the words
 * that bash splits at `=` and `:`. The last line of `complete` starts with a colon and is for other shells.
 */
const bashScript = `# bash completion for slipway
_slipway() {
  local line cur words
  line=\${COMP_LINE:0:COMP_POINT}
  read -ra words <<< "$line"
  cur=
  [[ $line == *[[:space:]] ]] || { cur=\${words[\${#words[@]}-1]}; unset "words[\${#words[@]}-1]"; }
  COMPREPLY=()
  while IFS= read -r line; do
    line=\${line%%$'\\t'*}
    [[ $line == :* || $line != "$cur"* ]] || COMPREPLY+=("$line")
  done < <("\${words[0]:-slipway}" complete -- "\${words[@]:1}" "$cur" 2>/dev/null)
  # Bash puts the words in the place of what follows the last = or :
  [[ $cur != *[=:]* || $COMP_WORDBREAKS != *[=:]* ]] || COMPREPLY=("\${COMPREPLY[@]#"\${cur%"\${cur##*[=:]}"}"}")
  [[ \${#COMPREPLY[@]} -ne 1 || \${COMPREPLY[0]} != */ ]] || compopt -o nospace 2>/dev/null
}
complete -o default -F _slipway slipway
`;

/** The scripts call `slipway complete`, so names come from the server and new versions need no new script. */
export const completionCommand = command({
  name: "completion",
  args: ["<shell>"],
  summary: "Print the completion script for bash, zsh, fish or powershell",
  group: "Other",
  examples: ["source <(slipway completion bash)", "slipway completion fish > ~/.config/fish/completions/slipway.fish"],
  options: [],
  completes: [shells],
  async action({ args, environment }) {
    const shell = args[0];
    if (!shells.some((known) => known === shell))
      throw new UsageError(`no completion for "${shell}": expected one of ${shells.join(", ")}`);
    if (shell === "bash") {
      environment.out.write(bashScript);
      return exitCode.succeeded;
    }
    const { RootCommand } = await import("@bomb.sh/tab");
    new RootCommand().setup("slipway", "slipway", shell ?? "");
    return exitCode.succeeded;
  },
});
