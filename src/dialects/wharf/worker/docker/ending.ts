import type { ContainerEngine, EngineContainer, Refused } from "#kernel/runtimes/index.ts";
import { StepFailure } from "../step-failure.ts";

type Life = EngineContainer["life"];

export const notCreated = (image: string, { message }: Refused): StepFailure =>
  /no such image/i.test(message)
    ? new StepFailure("ImageMissing", `image "${image}" is not present: ${message}`)
    : new StepFailure("ContainerCreate", message);

/** Exit codes as shells report them. */
export function notStarted({ message, isProgramMissing }: Refused): StepFailure {
  if (isProgramMissing) return new StepFailure("NotFound", message, 127);
  const isForbidden = /permission denied|is a directory|exec format error/i.test(message);
  return isForbidden ? new StepFailure("NotExecutable", message, 126) : new StepFailure("ContainerStart", message);
}

export const lacksInit = ({ message }: Refused): boolean => /docker-init|init binary/i.test(message);

/** Waits, across restarts of the engine, until the container has ended. */
export async function lifeAtEnd(
  engine: ContainerEngine,
  id: string,
  ask: <T>(question: () => Promise<T>) => Promise<T>,
): Promise<Life> {
  for (;;) {
    await ask(() => engine.ended(id));
    const found = await ask(() => engine.find(id));
    if (found === undefined)
      throw new StepFailure("ContainerGone", "the container of the step was removed by another process");
    if (!found.life.isRunning) return found.life;
  }
}
