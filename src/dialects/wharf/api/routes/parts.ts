import type { Hono } from "hono";
import type { Clock, Logger } from "#lib/base/index.ts";
import type { StartParts } from "../../builds/start-worker.ts";
import type { RestEnvironment } from "../../http/rest-api.ts";
import type { BuildStores } from "../build-stores.ts";
import type { Repository } from "../repository.ts";
import type { SmallRecords } from "../small-records.ts";

export interface ApiParts {
  readonly repository: Repository;
  readonly start: StartParts;
  readonly tokens: SmallRecords;
  readonly providers: SmallRecords;
  readonly stores: BuildStores;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
}

export type Api = Hono<RestEnvironment>;
