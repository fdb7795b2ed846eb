import type { BuildWord } from "../state.ts";
import type { StepStatus } from "./build-document.ts";

/** Numbers of statuses in worker messages, RFC-0025 and wharf-api. Completed and Failed are 3 and 2 in the RFC, 2 and 3
 * in wharf-api. */
export const statusNumbers: Readonly<
  Record<StepStatus, { readonly worker: number; readonly rfc: number; readonly build: BuildWord }>
> = {
  None: { worker: 1, rfc: 0, build: "Scheduling" },
  Scheduling: { worker: 2, rfc: 0, build: "Scheduling" },
  Initializing: { worker: 3, rfc: 1, build: "Running" },
  Running: { worker: 4, rfc: 1, build: "Running" },
  Success: { worker: 5, rfc: 3, build: "Completed" },
  Failed: { worker: 6, rfc: 2, build: "Failed" },
  Cancelled: { worker: 7, rfc: 2, build: "Failed" },
};

const byWorker = new Map(Object.entries(statusNumbers).map(([status, { worker }]) => [worker, status as StepStatus]));
const byRfc: readonly StepStatus[] = ["Scheduling", "Running", "Failed", "Success"];

export const statusOfWorker = (number: number): StepStatus | undefined => byWorker.get(number);
export const statusOfRfc = (number: number): StepStatus | undefined => byRfc[number];
