import type { PodSessions } from "#kernel/runtimes/index.ts";
import type { Clock, Logger, Random } from "#lib/base/index.ts";
import type { ResourceRegistry } from "../kinds/served-resource.ts";
import type { Store } from "../store/store.ts";
import type { Authorizer } from "../authz/authorizer.ts";
import type { TokenReviewer } from "../authz/identity.ts";
import type { ArtifactSource } from "./sources.ts";
import type { Limits } from "./limits.ts";
import type { PodLogs } from "./sources.ts";
import type { LogSource } from "./sources.ts";
import type { Turns } from "./turns.ts";

export interface ApiContext {
  readonly store: Store;
  /** The kinds served now. Ask again after every wait: CustomResourceDefinitions come and go. */
  readonly registry: () => ResourceRegistry;
  /** Calls `listener` after each change of the registry; the returned function unsubscribes. */
  readonly onKindsChange: (listener: () => void) => () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: Limits;
  readonly turns: Turns;
  readonly newUid: () => string;
  /** In [0, 1), for `generateName` and the spread of watch timeouts. */
  readonly random: Random;
  readonly podLogs: PodLogs;
  readonly podSessions: PodSessions;
  /** Logs of other kinds than Pods. */
  readonly logSources?: readonly LogSource[];
  readonly artifacts?: ArtifactSource;
  readonly authorizer: Authorizer;
  readonly tokens: TokenReviewer;
  readonly mountsAccountTokens?: boolean;
}
