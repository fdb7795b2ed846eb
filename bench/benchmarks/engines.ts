import type { Environment } from "../harness/environment.ts";
import { type EngineLoad, engineCandidate, installedVersion, startEngine } from "../harness/peers.ts";
import type { CandidateSource } from "../harness/types.ts";

/** The durable workflow engines of bench/peers, and the server that each needs. */
export const engines = [
  { name: "Restate", engine: "restate", service: "restate", library: "@restatedev/restate-server" },
  { name: "BullMQ", engine: "bullmq", service: "redis", library: "bullmq" },
  { name: "DBOS", engine: "dbos", service: "pg", library: "@dbos-inc/dbos-sdk" },
] as const;

/** All of them under one load. They are started once and serve all benchmarks. */
export const enginesOf = (environment: Environment, load: EngineLoad): readonly CandidateSource[] =>
  engines.map(({ name, engine, service, library }) => {
    const version = installedVersion(environment, library);
    const start = () => startEngine(environment, engine, service);
    return engineCandidate(environment, { name, start, ...(version === undefined ? {} : { version }) }, load);
  });
