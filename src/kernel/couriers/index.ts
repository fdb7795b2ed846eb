export type { Courier, Delivery, EffectAnswer, HttpRequest, OutsideRequest } from "./courier.ts";
export { EgressRules } from "./egress.ts";
export { type EgressProxy, openEgressProxy } from "./egress-proxy.ts";
export { openHttp, performHttp } from "./perform-http.ts";
export { processCourier } from "./process-courier.ts";
