import { type ClusterFlags, clusterOptions, command, type CommandSpec, UsageError } from "#kernel/command/index.ts";
import { agentCommand } from "./agent/command.ts";
import { drpcliCommands } from "./drpcli/command.ts";
import { readRebarOptions, rebarOptions } from "./options.ts";

/** `slipway up` has a server of its own; this one is for a cluster. */
const serverCommand = command<ClusterFlags>({
  name: "rebar server",
  args: [],
  summary: "Serve drpcli and agents of machines that a cluster keeps",
  group: "Control plane",
  examples: ["slipway rebar server --kubeconfig cluster.kubeconfig --rebar-listen 192.0.2.7:8092"],
  options: [...clusterOptions, ...rebarOptions],
  async action(invocation) {
    const { options, environment, host } = invocation;
    const path = await import("node:path");
    const resolve = (file: string) => path.resolve(environment.directory, file);
    const given = readRebarOptions({ options, variable: environment.variable, resolve });
    if (!given.ok) throw new UsageError(given.error.join("\n"));
    const { listen } = given.value;
    if (listen === undefined) throw new UsageError("a server without an address: --rebar-listen is off");
    // A server is asked for explicitly, so a taken default port is an error.
    const rebar = { ...given.value, listen: { ...listen, isUsual: false }, part: "server" };
    return await host.serveCluster(invocation, { language: "rebar", dialectOptions: { rebar } });
  },
});

const rebarCommand = command<object>({
  name: "rebar",
  args: [],
  summary: "Digital Rebar: agents of machines, its client, content bundles",
  group: "Documents",
  examples: ["slipway rebar agent --machine 3e7031fe-5555-45f1-835c-92541bc9cbd3", "slipway rebar bundle content"],
  options: [],
  action: () => Promise.reject(new UsageError("name what to do: agent, server, drpcli, jq, bundle or unbundle")),
});

export const commands: readonly CommandSpec[] = [rebarCommand, agentCommand, serverCommand, ...drpcliCommands];
