import { type DescMessage, type MessageInitShape, wharfWorkerV1 } from "#kernel/rpc/index.ts";
import { type Instant, parseInstant } from "#lib/base/index.ts";
import type { Artifact, StatusUpdate } from "../results/build-document.ts";
import type { StepEvent } from "../results/follow-events.ts";
import { statusNumbers } from "../results/status-numbers.ts";

// What happens to steps, as messages of released workers and of RFC-0025. Ids are those of the store: a caller who comes again sees the same.

/** The message of an event; undefined for one that is not told. */
export type MessageOf<T, O extends DescMessage> = (event: StepEvent<T>) => MessageInitShape<O> | undefined;

/** All that is known of a status. */
export const statusMessage: MessageOf<StatusUpdate, typeof wharfWorkerV1.StreamStatusEventsResponseSchema> = ({
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

/** Statuses that have one number are one: of those that follow each other the first is told. */
export function rfcStatusMessages(): MessageOf<StatusUpdate, typeof wharfWorkerV1.StatusEventsResponseSchema> {
  const told = new Map<number, number>();
  return ({ stepId, event }) => {
    // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- As above.
    const status = statusNumbers[event.status].rfc as wharfWorkerV1.StatusEventsResponse_Status;
    if (told.get(stepId) === status) return undefined;
    told.set(stepId, status);
    return { eventId: BigInt(event.updateId), stepId: BigInt(stepId), status };
  };
}

/** All that is known of an artifact. Its bytes can be downloaded. */
export const artifactMessage: MessageOf<Artifact, typeof wharfWorkerV1.StreamArtifactEventsResponseSchema> = ({
  event,
}) => ({
  artifactId: BigInt(event.artifactId),
  stepId: BigInt(event.stepId),
  name: event.name,
  size: BigInt(event.size),
  sha256: event.sha256 ?? "",
  testResults: event.testResults,
});

/** What RFC-0025 has of it. */
export const rfcArtifactMessage: MessageOf<Artifact, typeof wharfWorkerV1.ArtifactEventResponseSchema> = ({
  event,
}) => ({
  artifactId: BigInt(event.artifactId),
  stepId: BigInt(event.stepId),
  name: event.name,
});

/** Absent where a store of an earlier worker has no time that can be read. */
const timestampOf = (at: Instant | undefined) =>
  at === undefined
    ? undefined
    : { seconds: BigInt(Math.floor(at / 1000)), nanos: (((at % 1000) + 1000) % 1000) * 1_000_000 };
