import type { Paint } from "#kernel/command/index.node.ts";

/** An address that a control plane listens on. `urls` is not empty. */
export interface Listening {
  readonly address: string;
  readonly port: number;
  readonly from: "this-machine" | "other-machines";
  readonly urls: readonly string[];
}

/** A control plane that answers, for whoever started it. Paths are absolute. */
export interface Served {
  readonly version: string;
  readonly url: string;
  /** The one of `url` first. */
  readonly listening: readonly Listening[];
  readonly directory: string;
  readonly kubeconfig: string;
  /** Where else it is spoken to. */
  readonly ports: readonly { readonly serves: string; readonly address: string }[];
  /** What follows `steps run`. */
  readonly runtime: string;
  readonly pid: number;
  /** Of a server that runs in the background. */
  readonly log?: string;
  /** `slipway` finds it without being told where, as kubectl never does. */
  readonly isFound: boolean;
}

/** What was started and where. Printed when requests are answered, not before: scripts wait for its first line. */
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
    ...ports.map(({ serves, address }) => `  reachable   for ${serves} at ${address}`),
    ...(log === undefined
      ? []
      : [`  log         ${log}`, `  stop with   slipway down${isFound ? "" : ` --data-dir ${quoted(directory)}`}`]),
    "",
  ].join("\n");

/** Who has opened it to others sees that, and what keeps them out, at each start. */
const reachable = ({ from, urls }: Listening): string =>
  from === "this-machine"
    ? `from this machine at ${urls.join(", ")}, too`
    : `from other machines at ${urls.join(", ")}; every request but health and version needs a credential`;

/** What a person does next; for a terminal only, since nobody reads it in the log of a service. */
export function nextSteps({ kubeconfig, isFound, log }: Served, paint: Paint): string {
  const path = quoted(kubeconfig);
  const named = isFound ? "" : ` --kubeconfig ${path}`;
  return [
    "",
    log === undefined ? "In another terminal:" : "Next:",
    `  slipway${named} run FILE             ${paint.dim("run a workflow file and wait for the result")}`,
    `  slipway${named} get workflows        ${paint.dim("list runs")}`,
    `  export KUBECONFIG=${path}`,
    `  kubectl get workflows        ${paint.dim("the same with kubectl")}`,
    ...(log === undefined ? ["Ctrl-C stops the control plane; running steps continue until it is started again."] : []),
    "",
  ].join("\n");
}

/** As a POSIX shell takes one word. */
const quoted = (path: string): string => (/^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
