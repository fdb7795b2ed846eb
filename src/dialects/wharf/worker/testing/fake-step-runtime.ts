import type { StepEnd, StepJob, StepRuntime } from "../step-runtime.ts";

export interface FakeStepRuntime extends StepRuntime {
  readonly started: readonly string[];
  readonly most: number;
}

export function fakeStepRuntime(carryOut: (job: StepJob) => Promise<StepEnd>): FakeStepRuntime {
  const started: string[] = [];
  let [active, most] = [0, 0];
  return {
    name: "host",
    started,
    get most() {
      return most;
    },
    check: () => Promise.resolve([]),
    preview: () => Promise.resolve([]),
    async run(job) {
      started.push(job.step.step);
      most = Math.max(most, ++active);
      job.onPhase("Initializing");
      job.onPhase("Running");
      const end = await carryOut(job);
      active -= 1;
      return end;
    },
    close: () => Promise.resolve(),
  };
}

export const success: StepEnd = { status: "Success", exitCode: 0 };

export const failure = (exitCode = 1): StepEnd => ({
  status: "Failed",
  exitCode,
  reason: "ExitCode",
  message: `exit code ${exitCode}`,
});

export const untilCancelled = ({ signal }: Pick<StepJob, "signal">): Promise<StepEnd> =>
  new Promise((resolve) => {
    const end = (): void => resolve({ status: "Cancelled", exitCode: 143 });
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
