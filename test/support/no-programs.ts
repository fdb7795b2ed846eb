import { startAmongNoPrograms } from "./slipway.ts";

startAmongNoPrograms();
