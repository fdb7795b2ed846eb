export * from "./contract.ts";
export type { ContainerEngine, ContainerLog, EngineContainer } from "./docker/container-engine.ts";
export { openContainerEngine } from "./docker/open-container-engine.ts";
export { type OpenedDocker, openDockerRuntime } from "./docker/open-docker-runtime.ts";
export { createFakeRuntime, type FakeRuntime } from "./fake/fake-runtime.ts";
export { createLocalRuntime, type LocalRuntime } from "./process/local-runtime.ts";
export { keptLastWord, longestLastWord, readLastWord, unmaskedWord } from "./last-word.ts";
export { createProcessRuntime } from "./process/process-runtime.ts";
export { acquireLock } from "./process/runner/lock.ts";
