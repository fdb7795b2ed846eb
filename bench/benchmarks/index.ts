import type { Environment } from "../harness/environment.ts";
import type { Benchmark } from "../harness/types.ts";
import { agents } from "./agents.ts";
import { b1, b1b } from "./b1.ts";
import { b10 } from "./b10.ts";
import { b11 } from "./b11.ts";
import { b12 } from "./b12.ts";
import { b13 } from "./b13.ts";
import { b2 } from "./b2.ts";
import { b3 } from "./b3.ts";
import { b3b } from "./b3b.ts";
import { b6c } from "./b6c.ts";
import { b6 } from "./b6.ts";
import { b7 } from "./b7.ts";
import { b8 } from "./b8.ts";
import { b9 } from "./b9.ts";
import { b9b } from "./b9b.ts";
import { b9c } from "./b9c.ts";
import { b9d } from "./b9d.ts";
import { b9e } from "./b9e.ts";
import { creates } from "./creates.ts";
import { fanOut } from "./fan-out.ts";
import { lists } from "./lists.ts";
import { p10 } from "./p10.ts";
import { p11 } from "./p11.ts";
import { rebar } from "./rebar.ts";
import { stored } from "./stored.ts";
import { templates } from "./templates.ts";
import { v1 } from "./v1.ts";
import { watches } from "./watches.ts";

/** All benchmarks, in the order of their numbers. */
export const benchmarksOf = (environment: Environment): readonly Benchmark[] => [
  b1(environment),
  ...b1b(environment),
  b2(environment),
  b3(environment),
  b3b(environment),
  ...watches(environment),
  ...agents(environment),
  b6c(environment),
  b6(environment),
  b7(environment),
  ...b8(environment),
  b9(environment),
  b9b(environment),
  b9c(environment),
  b9d(environment),
  b9e(environment),
  b10(environment),
  b11(environment),
  b12(environment),
  b13(environment),
  ...creates(environment),
  ...lists(environment),
  p10(environment),
  p11(environment),
  ...stored(environment),
  fanOut(environment),
  ...rebar(environment),
  ...templates(environment),
  v1(environment),
];
