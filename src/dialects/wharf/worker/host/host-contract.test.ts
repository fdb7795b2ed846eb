import { systemClock } from "#lib/base/index.ts";
import { stepRuntimeContract } from "../step-runtime.contract.ts";
import { createHostRuntime } from "./host-runtime.ts";

stepRuntimeContract(() =>
  Promise.resolve({
    runtime: createHostRuntime({ clock: systemClock, variables: { PATH: process.env["PATH"] } }),
    image: "none",
  }),
);
