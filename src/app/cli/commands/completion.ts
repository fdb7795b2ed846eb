import { command } from "../command.ts";
import { exitCode, UsageError } from "../exit-codes.ts";

const shells = ["bash", "zsh", "fish", "powershell"] as const;

/**
 * The scripts call back `slipway complete`, so that names come from the server at the moment of typing, and a new
 * version needs no new script.
 */
export const completionCommand = command({
  name: "completion",
  args: ["<shell>"],
  summary: "Print the script that completes words for bash, zsh, fish or powershell",
  group: "Other",
  examples: ["source <(slipway completion bash)", "slipway completion fish > ~/.config/fish/completions/slipway.fish"],
  options: [],
  completes: [shells],
  async action({ args }) {
    const shell = args[0];
    if (!shells.some((known) => known === shell))
      throw new UsageError(`no completion for "${shell}": expected one of ${shells.join(", ")}`);
    const { RootCommand } = await import("@bomb.sh/tab");
    new RootCommand().setup("slipway", "slipway", shell ?? "");
    return exitCode.succeeded;
  },
});
