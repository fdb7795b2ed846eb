// The public entry `slipway/kit`.

export * from "./cache/informer.ts";
export * from "./cache/informer-factory.ts";
export { freshClient } from "./cache/fresh-client.ts";
export type { IndexFunction, Indexers } from "./cache/indexed-store.ts";
export { KindMirrors } from "./cache/kind-mirrors.ts";
export { Reflector, type ReflectorSink, type Scope } from "./cache/reflector.ts";
export { isAllowed, type Right } from "./client/access-review.ts";
export { ApiChannel } from "./client/api-channel.ts";
export type * from "./client/api-client.ts";
export * from "./client/client-config.ts";
export * from "./client/data-directory.ts";
export * from "./client/decode.ts";
export * from "./client/field-selector.ts";
export { createHttpClient } from "./client/http-client.ts";
export { inClusterConnection } from "./client/in-cluster.ts";
export { labelMatcher } from "./client/label-matcher.ts";
export {
  formatLabelSelector,
  type LabelRequirement,
  type LabelSelector,
  matchesLabels,
  parseLabelSelector,
  readLabelSelector,
} from "./client/label-selector.ts";
export { loadKubeconfig, type LoadKubeconfigOptions } from "./client/load-kubeconfig.ts";
export type { ExecEnd, ExecOptions, TerminalSize } from "./client/exec-session.ts";
export * from "./client/pod-streams.ts";
export { refTo } from "./client/request-path.ts";
export * from "./client/resource-version.ts";
export { TokenBucket } from "./client/token-bucket.ts";
export { secretData, secretText } from "./client/secret-data.ts";
export * from "./controller/builder.ts";
export * from "./controller/conditions.ts";
export * from "./controller/controller.ts";
export * from "./controller/crd-installer.ts";
export * from "./controller/delay-heap.ts";
export * from "./controller/election.ts";
export * from "./controller/event-recorder.ts";
export * from "./controller/fifo.ts";
export * from "./controller/lease-election.ts";
export * from "./controller/manager.ts";
export * from "./controller/predicates.ts";
export * from "./controller/reconciler.ts";
export * from "./controller/semantic-equal.ts";
export * from "./controller/source.ts";
export * from "./controller/wait-for.ts";
export * from "./controller/work-queue.ts";
export * from "./controller/writes.ts";
export * from "./metrics/metrics.ts";
