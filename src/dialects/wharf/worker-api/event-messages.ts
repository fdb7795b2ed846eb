import { type DescMessage, type MessageInitShape, wharfWorkerV1 } from "#kernel/rpc/index.ts";
import { type Instant, parseInstant } from "#lib/base/index.ts";
import type { Artifact, StatusUpdate } from "../results/build-document.ts";
import type { StepEvent } from "../results/follow-events.ts";
import { statusNumbers } from "../results/status-numbers.ts";

// Step events as messages of released workers and of RFC-0025. Ids are those of the store.

/** Undefined for events that are not sent. */
export type MessageOf<T, O extends DescMessage> = (event: StepEvent<T>) => MessageInitShape<O> | undefined;

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

/** RFC-0025 has fewer statuses: repeated ones are skipped. */
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

export const rfcArtifactMessage: MessageOf<Artifact, typeof wharfWorkerV1.ArtifactEventResponseSchema> = ({
  event,
}) => ({
  artifactId: BigInt(event.artifactId),
  stepId: BigInt(event.stepId),
  name: event.name,
});

/** Undefined if an earlier worker stored an unreadable time. */
const timestampOf = (at: Instant | undefined) =>
  at === undefined
    ? undefined
    : { seconds: BigInt(Math.floor(at / 1000)), nanos: (((at % 1000) + 1000) % 1000) * 1_000_000 };
