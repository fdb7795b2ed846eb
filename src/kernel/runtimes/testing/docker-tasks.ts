import type { ContainerSetup, Task } from "../contract.ts";

/** A task that runs a shell script in a container; its log is a file in `directory`. */
export const containerTask = (
  directory: string,
  id: string,
  script: string,
  setup: ContainerSetup,
  more: Partial<Task> = {},
): Task => ({
  id,
  command: ["/bin/sh"],
  env: {},
  workingDirectory: "/",
  logPath: `${directory}/logs/${id.replaceAll("/", "_")}.log`,
  container: { ...setup, command: ["/bin/sh", "-c", script] },
  ...more,
});
