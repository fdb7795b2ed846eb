import type { ContainerEngine, EngineContainer, Refused } from "#kernel/runtimes/index.ts";
import { StepFailure } from "../step-failure.ts";

/** How a container ends, as the engine tells it. */
type Life = EngineContainer["life"];

/** A container that was not made. */
export const notCreated = (image: string, { message }: Refused): StepFailure =>
  /no such image/i.test(message)
    ? new StepFailure("ImageMissing", `the engine has no image "${image}": ${message}`)
    : new StepFailure("ContainerCreate", message);

/** A container whose program could not be started. The codes are those that a shell has for it. */
export function notStarted({ message, isProgramMissing }: Refused): StepFailure {
  if (isProgramMissing) return new StepFailure("NotFound", message, 127);
  const isForbidden = /permission denied|is a directory|exec format error/i.test(message);
  return isForbidden ? new StepFailure("NotExecutable", message, 126) : new StepFailure("ContainerStart", message);
}

/** The engine does not have the program that it is told to begin containers with. */
export const lacksInit = ({ message }: Refused): boolean => /docker-init|init binary/i.test(message);

/** Waits until the container does not run, over an engine that is away for a while, and tells how it ended. */
export async function lifeAtEnd(
  engine: ContainerEngine,
  id: string,
  ask: <T>(question: () => Promise<T>) => Promise<T>,
): Promise<Life> {
  for (;;) {
    // Also when the engine was started anew meanwhile: what it had run it has ended.
    await ask(() => engine.ended(id));
    const found = await ask(() => engine.find(id));
    if (found === undefined)
      throw new StepFailure("ContainerGone", "somebody else has removed the container of the step");
    // What stands between may end the wait before the container ends.
    if (!found.life.isRunning) return found.life;
  }
}
