import type { Marker } from "./marker-search.ts";
import { marked, type SecretRule } from "./secret-rules.ts";
import { entropyOf, isIdentifier, isLiteral, isRandom } from "./values.ts";

/** The end of a name whose value is secret, and what may follow it. The letter case is not regarded. */
const STEM = String.raw`(?:pass(?:wor[dt]|wd|phrase)|(?<=[_.-]|db|smtp|mail|user|admin|root|ftp|ssh|proxy)pass|(?<=[_;-]|\bsa)pwd|(?<!(?:page|next|sync|cursor|continuation|cancel(?:l?ation)?|stop|eos|bos|pad|unk|mask)[_-]?)token|secret|credentials?|(?:api|access|secret|private|pre-?shared|signing|encryption|master|auth|account|storage|subscription|app|admin|webhook|license|client)[_ -]?key)`;
const SUFFIX = String.raw`(?:[_-]?base)?(?:_?\d{1,2}|[_-](?:live|test|prod|production|dev|staging))?`;
const NAME = STEM + SUFFIX;
const NAME_MARKERS =
  "assword ASSWORD asswort ASSWORT asswd ASSWD assphrase ASSPHRASE pass Pass PASS _pwd _PWD Pwd token Token TOKEN ecret ECRET redential REDENTIAL redentials REDENTIALS key Key KEY";

/** A quote, which may be escaped because it stands in JSON. */
const QUOTE = "\\\\{0,3}[\"'`]";
/** What closes a name: `"]` of `env["NAME"]`, `)` of `getenv("NAME")`. */
const CLOSE = String.raw`(?:${QUOTE}|\*\*)? ?[\])]{0,2}`;
/** Weaker signs that a value follows a name: a blank, a word, the next cell of a table. */
const BESIDE = String.raw`[ \t]{1,3}(?:(?:is|was):?[ \t])?| ?\| ?`;
/** What stands between a name and a value in quotes: an operator, a type and an operator, a comma, or the name of the value. */
const OPERATOR = String.raw`(?::{0,2}={1,3}|=>|\?\?=?|\|\|=?|\bor\b|:(?:\s{0,3}[&'\w<>[\]?|. ]{1,40}=)?|(?<=["'${"`"}]),(?:\s{0,20}${QUOTE}value${QUOTE}\s{0,5}:)?|(?<=["'])\s{1,5}value=|${BESIDE})`;
const QUOTED = String.raw`${CLOSE}\s{0,5}${OPERATOR}(?:\*\*)?\s{0,5}(?:[\w.]{1,40}\((?:\w{1,20}=)?)?[bruf@]{0,2}${QUOTE}([^\s"'${"`"}\\<{$](?:[^\s"'${"`"}\\<{$]|\$(?![{(])){5,500})${QUOTE}`;

/** A value that ends at a blank, a quote or a sign that separates values. */
const BARE_VALUE = String.raw`([^\s"'${"`"};,&|<>(){}[\]\\$](?:[^\s"'${"`"};,&|<>(){}[\]\\$]|\$(?![{(])){5,500})`;
const LINE = String.raw`(?:\r?\n|\\r?\\?n)[\s-]{0,40}`;
const BARE = String.raw`${CLOSE}(?:\s{0,3}\??=\s{0,3}|\s{0,2}:(?:\*\*)?\s{0,4}|${LINE}value:\s{1,4}|>|${BESIDE})${BARE_VALUE}`;

function valueRule(
  kind: string,
  markers: Marker[],
  pattern: RegExp | string,
  accepts: SecretRule["accepts"],
): SecretRule {
  const source = typeof pattern === "string" ? pattern : pattern.source;
  return { kind, markers, pattern: new RegExp(source, "dgi"), accepts };
}

function nameMarkers(stem: string, after: string): Marker[] {
  return marked(NAME_MARKERS, new RegExp(`(?=[\\s\\d_\\-:=>"'\`\\\\\\])?|,])(?<=${stem})${SUFFIX}${after}`, "iy"));
}

const isPassword = (name: string): boolean => /^(?:pass|pwd)/i.test(name);

/** Keys of objects are few and come again and again. */
const SECRET_KEY = new RegExp(`^[\\w.-]{0,60}?${NAME}$`, "i");
const KEYS_MAX = 4_096;
const isSecretKey = new Map<string, boolean>();

/** Returns true if a text is a secret because of the key under which it stands in an object. */
export function isNamedSecret(key: string, text: string): boolean {
  let isSecret = isSecretKey.get(key);
  if (isSecret === undefined) {
    isSecret = SECRET_KEY.test(key);
    if (isSecretKey.size < KEYS_MAX) isSecretKey.set(key, isSecret);
  }
  return isSecret && /^[^\s<{$]\S{5,499}$/.test(text) && isLiteral(text) && /\d/.test(text) && entropyOf(text) >= 2.5;
}

/** Behind a comma, a blank or a word stands a value less often than behind an operator. */
const OPERATED = /^[\w -]*["'`\\*\s\])]*(?:[:=?>]|\|\||or\b|,\s*\\{0,3}["']value|\s+value=|\s*\\r?\\?n)/i;

/** Returns true if a value cannot be a word beside a name. */
function isStriking(value: string, name: string): boolean {
  const isMixed = /\d/.test(value) && /[a-z]/i.test(value) && /[^\w.:/-]/.test(value);
  return isRandom(value) || (isPassword(name) && value.length >= 8 && isMixed && !/[,;:.)]$/.test(value));
}

/** A literal between quotes after a secret name. */
function acceptsQuoted(value: string, match: RegExpMatchArray): boolean {
  if (!isLiteral(value)) return false;
  const [whole] = match;
  if (!OPERATED.test(whole)) return isStriking(value, whole);
  const isLong = value.length >= (isPassword(whole) ? 6 : 8);
  return isLong && (/\d/.test(value) || /[^\w.:/-]/.test(value)) && entropyOf(value) >= 2.5;
}

/** A value without quotes: only in a name in capitals, as environments have them, may it look like a name of a program. */
function acceptsBare(value: string, match: RegExpMatchArray, text: string): boolean {
  const [whole] = match;
  const next = text[match.indices![1]![1]] ?? "";
  if (!isLiteral(value) || "([{.".includes(next || " ")) return false;
  const between = whole.slice(0, whole.length - value.length);
  const name = /^[\w-]+/.exec(between)![0];
  const password = isPassword(name);
  const isEnvironment = name === name.toUpperCase();
  if (isEnvironment && between.endsWith("=")) return value.length >= (password ? 6 : 8) && entropyOf(value) >= 2.5;
  if (!OPERATED.test(between)) return !/^[\w.-]+[=:]/.test(value) && isStriking(value, name);
  if (isRandom(value)) return true;
  if (",)}".includes(next || " ")) return false;
  if (isIdentifier(value))
    return (password || isEnvironment) && value.length >= 7 && /\d/.test(value) && !/_|[a-z][A-Z]/.test(value);
  if (!password && !isEnvironment) return false;
  return /[a-zA-Z]/.test(value) && /[\d!@#$%^*+=?~]/.test(value) && !/^[\w.-]*$/.test(value) && entropyOf(value) >= 2.5;
}

const isWritten: SecretRule["accepts"] = (value) => isLiteral(value) && entropyOf(value) >= 2.5;
const isToken: SecretRule["accepts"] = (value) =>
  isLiteral(value) && (isRandom(value) || (value.length >= 16 && entropyOf(value) >= 3 && /\d/.test(value)));

/**
 * Values that only their syntax marks: behind a name that says it is secret, in a header, in an option of a program. What could be a name,
 * a path or a placeholder is no value, because conversations about code are full of these.
 */
export const VALUE_RULES: readonly SecretRule[] = [
  valueRule("named-secret", nameMarkers(STEM, QUOTED), `${NAME}${QUOTED}`, acceptsQuoted),
  valueRule("named-secret", nameMarkers(String.raw`\bpass`, QUOTED), String.raw`\bpass${QUOTED}`, acceptsQuoted),
  valueRule("environment-secret", nameMarkers(STEM, BARE), `${NAME}${BARE}`, acceptsBare),
  valueRule(
    "environment-secret",
    marked("PASSW PASSPHRASE"),
    /(?:PASSWORD|PASSWD|PASSPHRASE)(?:=|:\s)(?:\\{0,3}["'])?([a-z]{3,20}(?:-[a-z]{3,20}){2,9})(?![\w.(-])/,
    (_, [whole]) => /^[A-Z]/.test(whole),
  ),
  valueRule(
    "environment-secret",
    marked("ENV setenv setx set -gx", /[\s"]/y),
    String.raw`\b(?:ENV|setenv|setx|set\s{1,3}-[gxU]{1,3})\s{1,3}["']?(?:\w{1,40}_)?${NAME}["']?\s{1,3}["']?${BARE_VALUE}`,
    isWritten,
  ),
  valueRule(
    "authorization-header",
    marked("uthorization AUTHORIZATION"),
    /authorization(?:\\{0,3}["'])?\]?\s{0,3}[:=,]\s{0,3}[bruf]{0,2}(?:\\{0,3}["'`])?(?:[a-z][\w-]{2,30}\s{1,3})?(?:token=\\{0,3}["']?)?([A-Za-z0-9._~+/=:-]{12,4000})/,
    isToken,
  ),
  valueRule(
    "authorization-header",
    marked("earer EARER", / /y),
    /\bbearer\s{1,3}([\w.~+/-]{20,4000}={0,2})/,
    (value) => isLiteral(value) && isRandom(value),
  ),
  valueRule(
    "basic-auth",
    marked("auth BasicAuth", /\s?[=(]/y),
    String.raw`auth\s?=?\s?\(\s{0,20}${QUOTE}[^"'\s]{1,80}${QUOTE},\s{0,20}${QUOTE}([^\s"']{6,200})${QUOTE}`,
    isWritten,
  ),
  valueRule(
    "url-password",
    marked("://", /[\w-]{20,200}(?::[\w-]{0,20})?@/y),
    /:\/\/([\w-]{20,200})(?::[\w-]{0,20})?@[a-z\d]/,
    (value) => isRandom(value),
  ),
  valueRule(
    "sql-password",
    marked("PASSWORD IDENTIFIED password identified", / /y),
    /(?:\bpassword\s{1,3}|\bidentified\s{1,3}(?:with\s{1,3}\w{1,40}\s{1,3})?by\s{1,3})'([^\s']{6,200})'/,
    (value) => isLiteral(value) && /\d/.test(value) && entropyOf(value) >= 2.5,
  ),
  valueRule(
    "cookie",
    marked('ookie: ookie":'),
    /cookie(?:\\{0,3}["'])?:\s{0,3}(?:\\{0,3}["'])?(?:[^\s"'=;]{1,60}=[^\s"';]{0,400};\s){0,20}?[\w.-]{0,40}(?:sess|sid|auth|token|jwt)[\w.-]{0,40}=([\w.~%+/=-]{16,4000})/,
    (value) => isRandom(value),
  ),
  valueRule(
    "url-parameter",
    marked("?key= &key= ?auth= &auth= ?jwt= &jwt= ?code= &code= ?sid= &sid= ?pass= &pass= ?pwd= &pwd="),
    /[?&](?:key|auth|jwt|code|sid|pass|pwd)=([\w.~%+/-]{8,2000})/,
    (value) => isLiteral(value) && isRandom(value),
  ),
  valueRule(
    "npm-token",
    marked("_auth _password"),
    /(?<![A-Za-z\d])_(?:authToken|auth|password)\s{0,3}=\s{0,3}"?([A-Za-z0-9._~+/=-]{8,500})/,
    isWritten,
  ),
  valueRule(
    "registry-auth",
    marked('"auth" "identitytoken" auth\\" identitytoken\\"'),
    String.raw`${QUOTE}(?:auth|identitytoken)${QUOTE}\s*:\s*${QUOTE}([A-Za-z0-9+/=._\-]{12,4000})${QUOTE}`,
    isWritten,
  ),
  valueRule(
    "kubeconfig-key",
    marked("client-key-data"),
    /client-key-data["']?\s{0,3}:\s{0,3}["']?([A-Za-z0-9+/]{24,20000}={0,2})/,
    isToken,
  ),
  valueRule(
    "command-password",
    marked("curl wget http"),
    /\b(?:curl|wget|https?)\s[^\n|;]{0,300}?(?:-u|--user|-a|--auth|--proxy-user)[\s=]{1,2}["']?[^\s:"'$]{1,60}:([^\s"'$]{6,200})/,
    isWritten,
  ),
  valueRule(
    "command-password",
    marked("mysql mariadb sshpass redis-cli mongo docker podman login ldap sqlcmd unzip 7z htpasswd psql"),
    /\b(?:(?:mysql|mariadb)\w*\s(?:[^\n|;&]{0,200}?\s)?-p|(?:sshpass|redis-cli|mongosh?|mongodump|ldapsearch|sqlcmd|unzip|zip|7z|(?:docker|podman|helm|az|oc|buildah|skopeo)\s[^\n|;&]{0,40}?login)\s(?:[^\n|;&]{0,200}?\s)?-(?:p|P|a|w)\s?)\\{0,3}["']?([^\s"'`$\\<]{6,200})/,
    isWritten,
  ),
  valueRule(
    "command-password",
    marked("-pass -token -key -secret -pwd", /[\w-]{0,12}\s/y),
    String.raw`(?<=(?:^|[\s"'])--?(?:[a-z]{1,20}-){0,3})(?:pass|pwd|${NAME})\s{1,2}\\{0,3}["']?${BARE_VALUE}`,
    (value) =>
      !value.startsWith("-") && isLiteral(value) && (isRandom(value) || (!isIdentifier(value) && /\d/.test(value))),
  ),
  valueRule(
    "command-password",
    marked("--password-stdin --with-token"),
    /\b(?:echo|printf)\s{1,3}["']?([^\s"'$|]{8,500})["']?\s{0,3}\|[^|\n]{0,120}?--(?:password-stdin|with-token)/,
    isWritten,
  ),
  valueRule(
    "netrc-password",
    marked("login"),
    /\blogin\s{1,5}\S{1,100}\s{1,5}password\s{1,5}([^\s"'$]{6,200})/,
    isWritten,
  ),
];
