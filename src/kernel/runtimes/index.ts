export * from "./contract.ts";
export { type OpenedDocker, openDockerRuntime } from "./docker/open-docker-runtime.ts";
export { createFakeRuntime, type FakeRuntime } from "./fake/fake-runtime.ts";
export { createLocalRuntime, type LocalRuntime } from "./process/local-runtime.ts";
export { createProcessRuntime } from "./process/process-runtime.ts";
