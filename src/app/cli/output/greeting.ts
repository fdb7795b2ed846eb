import type { Paint } from "#kernel/command/index.node.ts";

export interface Listening {
  readonly address: string;
  readonly port: number;
  readonly from: "this-machine" | "other-machines";
  readonly urls: readonly string[];
}

/** A ready control plane. Paths are absolute. */
export interface Served {
  readonly version: string;
  readonly url: string;
  /** The address of `url` comes first. */
  readonly listening: readonly Listening[];
  readonly directory: string;
  readonly kubeconfig: string;
  /** Ports of other servers. */
  readonly ports: readonly {
    readonly serves: string;
    readonly address: string;
    readonly hint?: string | undefined;
  }[];
  /** Continues the words `steps run`. */
  readonly runtime: string;
  readonly pid: number;
  /** The log of a server that runs in the background. */
  readonly log?: string;
  /** `slipway` finds it without options; kubectl never does. */
  readonly isFound: boolean;
}

/** What was started and where. Printed once requests are answered: scripts wait for its first line. */
export const greeting = (
  { version, url, listening, ports, directory, kubeconfig, runtime, log, isFound }: Served,
  paint: Paint,
): string =>
  [
    paint.good(`Slipway ${version} is ready at ${url}`),
    `  data        ${directory}`,
    `  kubeconfig  ${kubeconfig}`,
    `  steps run   ${runtime}`,
    ...listening.filter(({ urls }) => !urls.includes(url)).map((door) => `  reachable   ${reachable(door)}`),
    ...ports.flatMap(({ serves, address, hint }) => [
      `  reachable   for ${serves} at ${address}`,
      ...(hint === undefined ? [] : [`              ${hint}`]),
    ]),
    ...(log === undefined
      ? []
      : [`  log         ${log}`, `  stop with   slipway down${isFound ? "" : ` --data-dir ${quoted(directory)}`}`]),
    "",
  ].join("\n");

/** Shows who can reach the server, and what protects it, at each start. */
const reachable = ({ from, urls }: Listening): string =>
  from === "this-machine"
    ? `from this machine also at ${urls.join(", ")}`
    : `from other machines at ${urls.join(", ")}; every request but health and version needs a credential`;

/** What to do next; for terminals only. */
export function nextSteps({ kubeconfig, isFound, log }: Served, paint: Paint, link?: string): string {
  const path = quoted(kubeconfig);
  const named = isFound ? "" : ` --kubeconfig ${path}`;
  return [
    "",
    ...(link === undefined
      ? []
      : [
          `Web UI: ${link}`,
          paint.dim("        logs in once within five minutes; slipway ui prints another link"),
          paint.dim("        the certificate is this server's own: continue when the browser warns"),
          "",
        ]),
    log === undefined ? "In another terminal:" : "Next:",
    `  slipway${named} run FILE             ${paint.dim("run a workflow file and wait for the result")}`,
    `  slipway${named} get workflows        ${paint.dim("list runs")}`,
    `  export KUBECONFIG=${path}`,
    `  kubectl get workflows        ${paint.dim("the same with kubectl")}`,
    ...(log === undefined ? ["Ctrl-C stops the control plane; running steps continue until it is started again."] : []),
    "",
  ].join("\n");
}

const quoted = (path: string): string => (/^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
