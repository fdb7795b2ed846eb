import { expect, test } from "vitest";
import { wharfWorkerV1 } from "#kernel/rpc/index.ts";
import { buildStatuses } from "../schema/build.ts";
import { stepStatuses } from "./build-document.ts";
import { statusNumbers, statusOfRfc, statusOfWorker } from "./status-numbers.ts";

test("every status has the numbers that the messages and wharf-api give it", () => {
  const { Status, StatusEventsResponse_Status: Rfc } = wharfWorkerV1;
  const table = stepStatuses.map((status) => {
    const { worker, rfc, build } = statusNumbers[status];
    return `${status} ${Status[worker]} ${Rfc[rfc]} ${build} ${buildStatuses.indexOf(build)}`;
  });
  expect(table).toEqual([
    "None PENDING SCHEDULING Scheduling 0",
    "Scheduling SCHEDULING SCHEDULING Scheduling 0",
    "Initializing INITIALIZING RUNNING Running 1",
    "Running RUNNING RUNNING Running 1",
    "Success SUCCESS COMPLETED Completed 2",
    "Failed FAILED FAILED Failed 3",
    "Cancelled CANCELLED FAILED Failed 3",
  ]);
});

test("numbers lead back to statuses", () => {
  for (const status of stepStatuses) expect(statusOfWorker(statusNumbers[status].worker)).toBe(status);
  expect([0, 1, 2, 3].map(statusOfRfc)).toEqual(["Scheduling", "Running", "Failed", "Success"]);
  expect([statusOfWorker(0), statusOfWorker(8), statusOfRfc(4)]).toEqual([undefined, undefined, undefined]);
});
