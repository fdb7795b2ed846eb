import type { LogRequest } from "#kernel/streams/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { PodStreams } from "#kernel/kit/index.ts";
import type { JsonObject } from "#lib/base/index.ts";
import type { RpcPort } from "#kernel/rpc/index.ts";
import type { TemplateHost } from "#kernel/template/index.ts";

/** Without the right to close it. */
export type Templates = Pick<
  TemplateHost,
  "ask" | "evaluateCue" | "parse" | "render" | "renderActions" | "renderChart"
>;

/** User settings by dialect, which alone knows the type. Default: the dialect's defaults. */
export type DialectOptions = Readonly<Record<string, unknown>>;

export interface DialectPort {
  /** Its clients, for people: `agents of machines`. */
  readonly serves: string;
  /** `host:port`. */
  readonly address: string;
  /** Absolute. */
  readonly tokenFile?: string;
  /** What a person pastes into a shell to use it. */
  readonly hint?: string | undefined;
  /** Why it is needed but not open. */
  readonly trouble?: string;
}

/** Reads one log of a run; `part` is a container or step, empty for the only log or all. Refusals come first. */
export type LogOpener = (run: KubeObject, part: string, request: LogRequest) => Promise<AsyncIterable<Uint8Array>>;

export interface ServerCondition {
  /** True means a problem, as with other conditions of Nodes. */
  readonly type: string;
  readonly isTrue: boolean;
  readonly reason: string;
  readonly message: string;
}

/** What controllers get besides their manager. Loaded on first use; the provider closes it after the manager. */
export interface ControllerParts<Options = unknown> {
  readonly version: string;
  readonly templates: Templates;
  /** For the dialect's files: absolute, and created by the dialect. */
  readonly directory: string;
  readonly options?: Options | undefined;
  /** For programs that controllers start: PATH, HOME and the like. Never our whole environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Directories for notes of servers, of which the first usable one counts; empty if clients need not find them. */
  readonly notes: readonly string[];
  /** Listens on `host:port` during the start. Rejects with `rpc-listen`. */
  readonly openPort: (address: string) => Promise<RpcPort>;
  /** Programs and ports in Pods; absent if the API has no address. */
  readonly podStreams?: () => PodStreams;
  /** Pods are processes of this server's user: what creates them for others lets them act as that user. */
  readonly runsPodsOnHost?: boolean;
  /** Adds an entry with a time to the audit log: who started what. */
  readonly audit: (entry: JsonObject) => void;
  /** Reports what is served where, or why not; replaces an earlier report of the same service. */
  readonly tellPort: (port: DialectPort) => void;
  /** Sets how logs are read that the dialect keeps open; see `RunLogs`. */
  readonly tellLogs: (open: LogOpener) => void;
  /** Reports a condition, true or not: an earlier one is remembered. */
  readonly tellCondition: (condition: ServerCondition) => void;
}
