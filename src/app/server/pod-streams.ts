import { createPodStreams, type HttpClientConfig, type PodStreams } from "#kernel/kit/index.ts";

export interface KeptPodStreams {
  readonly open: () => PodStreams;
  readonly close: () => void;
}

/** `config` is called on first use. */
export function keptPodStreams(config: () => HttpClientConfig): KeptPodStreams {
  let streams: PodStreams | undefined;
  return { open: () => (streams ??= createPodStreams(config())), close: () => streams?.close() };
}
