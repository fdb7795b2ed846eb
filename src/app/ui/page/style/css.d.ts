// Style sheets are the bundler's; here they are imported for their effect only.
declare module "*.css";
