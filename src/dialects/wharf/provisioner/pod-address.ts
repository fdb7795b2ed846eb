import type { Duplex } from "node:stream";
import type { PodStreams } from "#kernel/kit/index.ts";
import { tcpConnect } from "../worker-api/tcp-connect.ts";
import type { Connect } from "../worker-api/worker-rest-client.ts";

export interface PodAddress {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export type ForwardPort = (
  pod: Pick<PodAddress, "namespace" | "name">,
  port: number,
  options: { readonly signal: AbortSignal },
) => Promise<Duplex>;

export const forwardBy =
  (streams: () => PodStreams): ForwardPort =>
  (pod, port, options) =>
    streams().portForward(pod, port, options);

/** `pod://namespace/name:5010`. */
export const formatPodAddress = ({ namespace, name, port }: PodAddress): string => `pod://${namespace}/${name}:${port}`;

export function parsePodAddress(address: string): PodAddress | undefined {
  const [, namespace = "", name = "", port = ""] = /^pod:\/\/([^/]+)\/([^/:]+):(\d{1,5})$/.exec(address) ?? [];
  return name === "" ? undefined : { namespace, name, port: Number(port) };
}

export function connectTo(address: string, forward: ForwardPort | undefined): Connect {
  const pod = parsePodAddress(address);
  if (pod === undefined) return tcpConnect(address);
  return async (signal) => {
    if (forward === undefined) throw new Error(`${address} is a Pod, and this process cannot forward ports of Pods`);
    return await forward(pod, pod.port, { signal });
  };
}
