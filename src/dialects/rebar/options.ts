import { err, ok, type Result } from "#lib/base/index.ts";
import {
  OptionReader,
  type OptionSources,
  type OptionSpec,
  prefixedFlag,
  prefixedOption,
} from "#kernel/command/index.ts";
import type { ListenChoice, ServerOptions } from "#kernel/dialect/index.ts";

export interface RebarOptions {
  /** What runs in this process; both if absent. A cluster may run them separately. */
  readonly part?: "controller" | "server";
  /** `/api/v3` over HTTPS. No server for clients and agents without it. */
  readonly listen?: ListenChoice;
  /** Boot files and what is rendered for machines, over HTTP to everybody who reaches it; absent: none. */
  readonly files?: ListenChoice;
  /** How machines reach this server, in what is rendered for them. Default: the host of the listener. */
  readonly machineHost?: string;
  readonly namespace?: string;
  /** The first user has the original's well-known password. */
  readonly usesDefaultPassword?: boolean;
  /** Plugins may run programs, and contexts agents, on this host. */
  readonly allowsHost?: boolean;
}

export const usualListen = "127.0.0.1:8092";

const heading = "Digital Rebar:";
const option = prefixedOption("rebar", heading);
const flag = prefixedFlag("rebar", heading);

export const rebarOptions: readonly OptionSpec[] = [
  option(
    "listen",
    "address",
    `HOST:PORT of /api/v3 for drpcli and agents, or off (default: ${usualListen} if it is free)`,
  ),
  option(
    "files",
    "address",
    "HOST:PORT of boot files, such as 192.0.2.7:8091, for machines that have no credentials yet (default: off)",
  ),
  option("machine-host", "host", "name or address by which machines reach this server (default: that of the listener)"),
  option("namespace", "name", "namespace of all its objects (default: rebar)"),
  flag("default-password", "create the first user with the original's well-known password"),
  flag("allow-host", "let plugins run programs, and contexts agents, on this host as this user"),
];

/** The options that are set, or every problem with them. */
export function readRebarOptions(sources: OptionSources): Result<RebarOptions, readonly string[]> {
  const reader = new OptionReader("rebar", sources);
  const listen = reader.listen("listen", usualListen);
  // Callers need no credentials there, and rendered files contain tokens: it is off by default.
  const files = reader.text("files") === undefined ? undefined : reader.listen("files", "off");
  const [machineHost, namespace] = [reader.text("machine-host"), reader.text("namespace")];
  if (machineHost !== undefined && !/^[A-Za-z0-9.:_-]{1,253}$/.test(machineHost))
    reader.problem("machine-host", `expected a host name or an address, found ${JSON.stringify(machineHost)}`);
  const given: RebarOptions = {
    ...(listen === undefined ? {} : { listen }),
    ...(files === undefined || listen === undefined ? {} : { files }),
    ...(machineHost === undefined ? {} : { machineHost }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(reader.flag("default-password") ? { usesDefaultPassword: true } : {}),
    ...(reader.flag("allow-host") ? { allowsHost: true } : {}),
  };
  return reader.problems.length > 0 ? err(reader.problems) : ok(given);
}

export const serverOptions: ServerOptions = {
  specs: rebarOptions,
  read: (sources) => Promise.resolve(readRebarOptions(sources)),
  // On a cluster, the server for clients and agents is a process of its own: `slipway rebar server`.
  forControllers: { part: "controller" } satisfies RebarOptions,
};

export const runExamples = ["slipway run --ephemeral examples/rebar/hello.yaml"];
