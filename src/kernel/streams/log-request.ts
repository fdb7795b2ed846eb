import { type Clock, type Instant, parseInstant } from "#lib/base/index.ts";
import { badRequest } from "#kernel/model/index.ts";
import type { ReadLogsOptions } from "./read-logs.ts";
import type { LogStream } from "./record.ts";

/** The options of a log request, in Kubernetes' words. */
export interface LogRequest {
  readonly follow?: boolean;
  readonly timestamps?: boolean;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly sinceSeconds?: number;
  /** RFC 3339; `sinceSeconds` wins. */
  readonly sinceTime?: string;
  /** Default: both. */
  readonly stream?: LogStream;
  /** Begin at this line, counted from 0, or somewhat before; with `numbered` only. */
  readonly fromLine?: number;
  /**
   * The first line of the answer is the number of the one that follows, counted from 0. Each other line begins with
   * `TIME STREAM FLAG `, of which the source may give `-`.
   */
  readonly numbered?: boolean;
  readonly signal?: AbortSignal;
}

/** Everything but `follow`, whose end only the log's owner knows. Throws for an invalid time. */
export function readingOf(request: LogRequest, clock: Clock): ReadLogsOptions {
  const { tailLines, fromLine, limitBytes, timestamps, numbered, stream, signal } = request;
  const since = sinceOf(request, clock);
  return {
    ...(tailLines === undefined ? {} : { tailLines }),
    ...(fromLine === undefined ? {} : { fromLine }),
    ...(numbered === undefined ? {} : { numbered }),
    ...(limitBytes === undefined ? {} : { limitBytes }),
    ...(timestamps === undefined ? {} : { timestamps }),
    ...(stream === undefined ? {} : { stream }),
    ...(signal === undefined ? {} : { signal }),
    ...(since === undefined ? {} : { since }),
  };
}

function sinceOf({ sinceTime, sinceSeconds }: LogRequest, clock: Clock): Instant | undefined {
  if (sinceSeconds !== undefined) return clock.now() - sinceSeconds * 1000;
  if (sinceTime === undefined) return undefined;
  const at = parseInstant(sinceTime);
  if (at === undefined) throw badRequest(`sinceTime must be a time as of RFC 3339, found ${JSON.stringify(sinceTime)}`);
  return at;
}
