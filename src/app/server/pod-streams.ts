import { createPodStreams, type HttpClientConfig, type PodStreams } from "#kernel/kit/index.ts";

/** Streams into Pods that exist from their first use on. */
export interface KeptPodStreams {
  readonly open: () => PodStreams;
  /** Ends what is open; nothing where they were never used. */
  readonly close: () => void;
}

/** For whoever may use them or not; `config` is asked once, by the first use. */
export function keptPodStreams(config: () => HttpClientConfig): KeptPodStreams {
  let streams: PodStreams | undefined;
  return { open: () => (streams ??= createPodStreams(config())), close: () => streams?.close() };
}
