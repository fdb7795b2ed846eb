import type { LogRequest } from "#kernel/logs/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { PodStreams } from "#kernel/kit/index.ts";
import type { JsonObject } from "#lib/base/index.ts";
import type { RpcPort } from "#kernel/rpc/index.ts";
import type { TemplateHost } from "#kernel/template/index.ts";

/** What renders, for controllers: they do not close what is not theirs. */
export type Templates = Pick<TemplateHost, "evaluateCue" | "parse" | "render" | "renderActions">;

/** What a person has set, by the name of the dialect, which alone knows its type. An absent dialect has its defaults. */
export type DialectOptions = Readonly<Record<string, unknown>>;

/** A port that a dialect serves, as the dialect tells it. */
export interface DialectPort {
  /** Who connects there, for people: `agents of machines`. */
  readonly serves: string;
  /** `host:port`. */
  readonly address: string;
  /** The file of the token that clients present; absolute. */
  readonly tokenFile?: string;
  /** Why it is not open although something needs it. */
  readonly trouble?: string;
}

/**
 * Reads one log of a run as bytes; `part` is what a `LogRef` has for a container, or what people call the step, and empty for the only one, or all. A
 * refusal comes from the call; a follower ends when nothing more is expected, or the signal aborts.
 */
export type LogOpener = (run: KubeObject, part: string, request: LogRequest) => Promise<AsyncIterable<Uint8Array>>;

/** What people should know of a server for as long as it is so: a condition of its Node. */
export interface ServerCondition {
  /** Says what is wrong when it is true, as other conditions of a Node do. */
  readonly type: string;
  readonly isTrue: boolean;
  readonly reason: string;
  readonly message: string;
}

/**
 * What controllers have besides their manager, from whoever puts the program together: the same for each dialect, which takes what it needs.
 * Nothing of it is loaded or started before it is used, and all of it is closed by whoever gave it, after the manager has stopped.
 */
export interface ControllerParts<Options = unknown> {
  /** Of the program, for services that tell it. */
  readonly version: string;
  readonly templates: Templates;
  /** Where the dialect may keep files: its own, absolute, and made by the dialect. */
  readonly directory: string;
  /** What a person has set of this dialect. */
  readonly options?: Options | undefined;
  /** Directories for the notes of servers, the first usable one is taken; none where this user's programs have no need to find them. */
  readonly notes: readonly string[];
  /** Takes an address, `host:port`, while the server starts. Rejects with `rpc-listen` when it cannot be had. */
  readonly openPort: (address: string) => Promise<RpcPort>;
  /** Programs and ports in Pods of the API that controllers are at work for; absent where that has no address. */
  readonly podStreams?: () => PodStreams;
  /** Writes a line into the audit log, with the time: who started something that runs programs. */
  readonly audit: (entry: JsonObject) => void;
  /** Is told of what is served where, or cannot be; what is told later of the same service takes the place of it. */
  readonly tellPort: (port: DialectPort) => void;
  /** Is told how logs of runs are read that the dialect itself has open; `RunLogs` says that it has some. */
  readonly tellLogs: (open: LogOpener) => void;
  /** Is told of what is unwise about it, and of what is not: what was told at an earlier start is remembered. */
  readonly tellCondition: (condition: ServerCondition) => void;
}
