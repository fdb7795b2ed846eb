// Texts of steps and workflows that people read. Clients compare some of them.

export const messages = {
  retriesTerminate: "The workflow terminates automatically because the failed times of steps have reached the limit",
  retriesSuspend: "The workflow suspends automatically because the failed times of steps have reached the limit",
  pendingOnDependsOn: (name: string) => `Pending on DependsOn: ${name}`,
  pendingOnInput: (name: string) => `Pending on Input: ${name}`,
  variableGone: (message: string) => `${message}, which was set and is gone; restart the workflow`,
  waitingForOutput: (name: string, valueFrom: string) => `waiting for output ${name} from ${valueFrom}`,
  outputMissing: (name: string, valueFrom: string) => `output ${name} from ${valueFrom} did not appear`,
  outputConflict: (name: string, owner: string) =>
    `conflict: variable ${name} was set to another value by step ${owner}`,
  storeTooLarge: (name: string, bytes: number) =>
    `the variables of the workflow exceed 900 KiB; the largest is ${name} with ${Math.ceil(bytes / 1024)} KiB`,
  answerTooLarge: (what: string, bytes: number) =>
    `${what}: the answer of ${Math.ceil(bytes / 1024)} KiB does not fit into the variables of the workflow (900 KiB)`,
  preCheck: (error: string) => `pre check error: ${error}`,
  conditionFalse: "skipped because its condition is false",
  dependencyNotSucceeded: (name: string, phase: string) => `skipped because step ${name} is ${phase}`,
  stopped: "skipped because the workflow was terminated",
  terminated: "terminated by a person",
  notRepeated: (message: string) =>
    `${message}; it may have been done and is not repeated: "slipway restart --step" sends it again`,
  unknownOutcome: (what: string) =>
    `${what} was begun and its outcome is unknown; it is not repeated: "slipway restart --step" sends it again`,
} as const;
