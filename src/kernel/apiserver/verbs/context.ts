import type { PodSessions } from "#kernel/runtimes/index.ts";
import type { Clock, Logger, Random } from "#lib/base/index.ts";
import type { ResourceRegistry } from "../kinds/served-resource.ts";
import type { Store } from "../store/store.ts";
import type { Authorizer } from "../authz/authorizer.ts";
import type { TokenReviewer } from "../authz/token-reviewer.ts";
import type { ArtifactSource } from "./artifact.ts";
import type { Limits } from "./limits.ts";
import type { PodLogs } from "./pod-log.ts";
import type { LogSource } from "./run-log.ts";
import type { Turns } from "./turns.ts";

/** What every verb works with. One per server. */
export interface ApiContext {
  readonly store: Store;
  /** The kinds served at this moment. Ask again after every wait: CustomResourceDefinitions come and go. */
  readonly registry: () => ResourceRegistry;
  /** Calls `listener` after each change of the registry; returns what ends that. */
  readonly onKindsChange: (listener: () => void) => () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: Limits;
  readonly turns: Turns;
  readonly newUid: () => string;
  /** A number in [0, 1), for the suffixes of `generateName` and the spread of watch timeouts. */
  readonly random: Random;
  readonly podLogs: PodLogs;
  readonly podSessions: PodSessions;
  /** Logs of kinds that are no Pods. */
  readonly logSources?: readonly LogSource[];
  readonly artifacts?: ArtifactSource;
  /** Says who may do what; follows the store. */
  readonly authorizer: Authorizer;
  /** Says whose a token is. */
  readonly tokens: TokenReviewer;
  /** See `ApiServerOptions`. */
  readonly mountsAccountTokens?: boolean;
}
