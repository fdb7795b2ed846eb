import { command, exitCode, withSession } from "#kernel/command/index.ts";

interface StatusOptions {
  readonly output?: "json";
}

/** Exits with 1 if no control plane is running or it is not ready. */
export const statusCommand = command<StatusOptions>({
  name: "status",
  args: [],
  summary: "Show the control plane, its ports, its runs and what is degraded",
  group: "Control plane",
  examples: ["slipway status", "slipway status -o json"],
  options: [{ flags: "-o, --output <format>", summary: "json", choices: ["json"] }],
  async action(invocation) {
    const { readStatus, statusText } = await import("../status.ts");
    const { environment, options, signal } = invocation;
    return await withSession(invocation, async ({ client }) => {
      const status = await readStatus(client, signal);
      const text = options.output === "json" ? `${JSON.stringify(status, null, 2)}\n` : statusText(status);
      environment.out.write(text);
      return status.ready ? exitCode.succeeded : exitCode.failed;
    });
  },
});
