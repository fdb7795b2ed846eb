export * from "./contract.ts";
export { createFakeRuntime, type FakeRuntime } from "./fake/fake-runtime.ts";
export { createProcessRuntime, type ProcessRuntimeOptions } from "./process/process-runtime.ts";
