import {
  type DescMessage,
  FramedCalls,
  type FramedCallsOptions,
  type FramedHandler,
  frameOf,
  type FrameSink,
  type MessageInitShape,
  RpcError,
  wharfWorkerV1,
} from "#kernel/rpc/index.ts";
import { codeOf, type Instant, parseInstant } from "#lib/base/index.ts";
import type { Artifact, StatusUpdate } from "../results/build-document.ts";
import { type EventFollowing, followEvents, type StepEvent } from "../results/follow-events.ts";
import { statusNumbers } from "../results/status-numbers.ts";
import type { Served } from "../http/index.ts";
import { followLogs } from "../results/follow-logs.ts";
import type { LogTime } from "../results/log-line.ts";
import type { Results, StepResults } from "../results/results.ts";
import { compareTimes, encodeLogFrames } from "./log-frames.ts";

const { Worker } = wharfWorkerV1;

/** The worker's streams under the names of released workers and of RFC-0025: everything from the beginning, then what
 * follows. OK means that the results are frozen and everything was sent; after any other end clients reconnect. */
export function workerStreams(results: Results, options: FramedCallsOptions): NonNullable<Served["streams"]> {
  const calls = new FramedCalls(options);
  const { streamLogs, streamStatusEvents, streamArtifactEvents, logs, statusEvents, artifactEvent } = Worker.method;
  const answers = <I extends DescMessage>(
    method: { readonly name: string; readonly input: I },
    run: FramedHandler<I>,
  ) =>
    [
      `/${Worker.typeName}/${method.name}`,
      calls.handler(method.input, (request, sink) => run(request, sink).catch(asRefusal)),
    ] as const;
  return new Map([
    answers(streamLogs, (request, sink) => sendLogs(results, request, sink)),
    answers(logs, (request, sink) => sendLogs(results, request, sink)),
    answers(streamStatusEvents, (request, sink) =>
      sendEvents(results, updatesOf, request, sink, streamStatusEvents.output, statusMessage),
    ),
    answers(statusEvents, (request, sink) =>
      sendEvents(results, updatesOf, request, sink, statusEvents.output, rfcStatusMessages()),
    ),
    answers(streamArtifactEvents, (request, sink) =>
      sendEvents(results, artifactsOf, request, sink, streamArtifactEvents.output, artifactMessage),
    ),
    answers(artifactEvent, (request, sink) =>
      sendEvents(results, artifactsOf, request, sink, artifactEvent.output, rfcArtifactMessage),
    ),
  ]);
}

type Method = typeof Worker.method;
type LogsRequest =
  | Parameters<FramedHandler<Method["streamLogs"]["input"]>>[0]
  | Parameters<FramedHandler<Method["logs"]["input"]>>[0];

/** Sends batches of about 64 KiB and reads nothing ahead of a slow client. */
async function sendLogs(results: Results, request: LogsRequest, sink: FrameSink): Promise<void> {
  const span = { since: timeOf(request.since), before: timeOf(request.before) };
  if (span.since !== undefined && span.before !== undefined && compareTimes(span.before, span.since) <= 0)
    throw new RpcError("INVALID_ARGUMENT", "before: expected a moment after since");
  const following = {
    stepIds: request.stepIds.map(Number),
    after: new Map(request.after.map(({ stepId, lastLogId }) => [Number(stepId), Number(lastLogId)])),
    follow: !request.noFollow,
    signal: sink.signal,
  };
  for await (const batch of followLogs(results, following)) {
    const frames = encodeLogFrames(batch, span);
    if (frames.length > 0) await sink.write(frames);
  }
}

const updatesOf = ({ updates }: StepResults): readonly StatusUpdate[] => updates;
const artifactsOf = ({ artifacts }: StepResults): readonly Artifact[] => artifacts;

async function sendEvents<T, O extends DescMessage>(
  results: Results,
  eventsOf: (step: StepResults) => readonly T[],
  { noFollow }: { readonly noFollow: boolean },
  sink: FrameSink,
  output: O,
  messageOf: MessageOf<T, O>,
): Promise<void> {
  const following: EventFollowing = { follow: !noFollow, signal: sink.signal };
  for await (const event of followEvents(results, eventsOf, following)) {
    const message = messageOf(event);
    if (message !== undefined) await sink.write(frameOf(output, message));
  }
}

const timeOf = (timestamp: { readonly seconds: bigint; readonly nanos: number } | undefined): LogTime | undefined =>
  timestamp && { seconds: Number(timestamp.seconds), nanos: timestamp.nanos };

function asRefusal(thrown: unknown): never {
  if (codeOf(thrown) !== "results-closed") throw thrown;
  throw new RpcError("UNAVAILABLE", "the results are not served any more", { cause: thrown });
}

// Step events as messages of released workers and of RFC-0025. Ids are those of the store.

type MessageOf<T, O extends DescMessage> = (event: StepEvent<T>) => MessageInitShape<O> | undefined;

const statusMessage: MessageOf<StatusUpdate, typeof wharfWorkerV1.StreamStatusEventsResponseSchema> = ({
  stepId,
  event,
}) => {
  const timestamp = timestampOf(parseInstant(event.timestamp));
  return {
    eventId: BigInt(event.updateId),
    stepId: BigInt(stepId),
    // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- The table has the numbers of the enum, which a test compares.
    status: statusNumbers[event.status].worker as wharfWorkerV1.Status,
    ...(timestamp === undefined ? {} : { timestamp }),
  };
};

/** RFC-0025 has fewer statuses: repeated ones are skipped. */
function rfcStatusMessages(): MessageOf<StatusUpdate, typeof wharfWorkerV1.StatusEventsResponseSchema> {
  const told = new Map<number, number>();
  return ({ stepId, event }) => {
    // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- As above.
    const status = statusNumbers[event.status].rfc as wharfWorkerV1.StatusEventsResponse_Status;
    if (told.get(stepId) === status) return undefined;
    told.set(stepId, status);
    return { eventId: BigInt(event.updateId), stepId: BigInt(stepId), status };
  };
}

const artifactMessage: MessageOf<Artifact, typeof wharfWorkerV1.StreamArtifactEventsResponseSchema> = ({ event }) => ({
  artifactId: BigInt(event.artifactId),
  stepId: BigInt(event.stepId),
  name: event.name,
  size: BigInt(event.size),
  sha256: event.sha256 ?? "",
  testResults: event.testResults,
});

const rfcArtifactMessage: MessageOf<Artifact, typeof wharfWorkerV1.ArtifactEventResponseSchema> = ({ event }) => ({
  artifactId: BigInt(event.artifactId),
  stepId: BigInt(event.stepId),
  name: event.name,
});

const timestampOf = (at: Instant | undefined) =>
  at === undefined
    ? undefined
    : { seconds: BigInt(Math.floor(at / 1000)), nanos: (((at % 1000) + 1000) % 1000) * 1_000_000 };
