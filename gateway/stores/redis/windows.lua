-- The ledger of windows in Redis. The files windows, leases, queue and operations make one script, in this order.
-- KEYS[1]: what all keys of the pool begin with; its hash tag keeps them in one slot.
-- ARGV: the time in ms, or '' for the server's own; then operations, each followed by what it is given, in JSON.
-- Each has an answer of its own; one that failed has {'failed', why}.
--
-- This file: the arithmetic of one window, the same in the same order as gateway/admission/windows.py.
local POOL, call = KEYS[1], redis.call
local now
if ARGV[1] ~= '' then now = tonumber(ARGV[1]) else
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local NEVER, RELEASE, ABSENT = -1, -2, -3
local DAY = 86400000
local RATE_TTL, MONEY_TTL = 8 * DAY, 40 * DAY
local TOLERANCE = 1e-6
local NOT_LIMITED = -1
local RAISE = 0.5
local ROUNDED_MS = 1000

local kept = {}                        -- keys of the pool that this run wrote: at its end they are given time
local function put(command, key, ...)
  kept[key] = true
  return call(command, key, ...)
end

local windows, touched = {}, {}        -- read in this run (false: not there); of these, to be written at its end
local changed = {}                     -- leases that are to be written, too

local function text(x) return string.format('%.17g', x) end
local function flow(w) return math.max(0.05 * w.rate, w.rate - w.ext) end
local function margin(w)
  if w.kind ~= 'bucket' or w.cap < 100 then return 0 end
  return 0.01 * w.cap + w.burst + w.aimd
end

local function advance(w)
  local passed = now - w.at
  if passed <= 0 then return end
  if w.kind == 'bucket' then w.level = math.min(w.cap, w.level + passed * flow(w))
  elseif w.kind == 'fixed' and w.period > 0 and now >= w.ends then
    w.ends = w.ends + (math.floor((now - w.ends) / w.period) + 1) * w.period
    w.level = w.cap
  end
  if w.aimd > 0 then
    w.aimd = w.aimd * 0.5 ^ (passed / 30000)
    if w.aimd < TOLERANCE * w.cap then w.aimd = 0 end
  end
  w.at = now
end

local function made(name, kind, cap, level)
  return {name = name, kind = kind, cap = cap, level = level, at = now, period = 0, ends = 0, rate = 0, ext = 0, burst = 0,
          aimd = 0, blocked = 0, read_at = 0, read_left = 0, held = 0, cold = false, provisional = false}
end

-- Money is in picodollars, whole numbers that Lua's are too coarse for above 2^53. So Lua never sees them: Redis
-- counts in 64 bits, what is compared is the sign of a difference, and amounts travel as text.
local function purse(w) return POOL .. ':m:' .. w.name end
local function minus(amount)
  if amount == '0' then return amount end
  if string.sub(amount, 1, 1) == '-' then return string.sub(amount, 2) end
  return '-' .. amount
end
local function add(w, field, amount) if amount ~= '0' then call('HINCRBY', purse(w), field, amount) end end
local function enough(w, field, need, ahead)
  add(w, field, minus(need)); add(w, field, minus(ahead))
  local left = call('HGET', purse(w), field)
  add(w, field, need); add(w, field, ahead)
  return string.sub(left, 1, 1) ~= '-'
end

local function load(name)
  if windows[name] == nil then
    local packed = call('GET', POOL .. ':w:' .. name)
    if packed then windows[name] = cmsgpack.unpack(packed); advance(windows[name])
    elseif call('PEXPIRE', POOL .. ':m:' .. name, MONEY_TTL) == 1 then windows[name] = {name = name, kind = 'never'}
    else windows[name] = false end
  end
  return windows[name] or nil
end
local function store(w)
  windows[w.name] = w
  touched[w.name] = w
end
local function write()
  for name, w in pairs(touched) do
    call('SET', POOL .. ':w:' .. name, cmsgpack.pack(w), 'PX', string.format('%.0f', math.max(RATE_TTL, 2 * w.period)))
  end
  for id, l in pairs(changed) do
    local ttl = l.ended and math.max(1, l.forget - now) or (l.money and MONEY_TTL or RATE_TTL) + 2 * DAY
    call('SET', POOL .. ':lease:' .. id, cmsgpack.pack(l), 'PX', string.format('%.0f', ttl))
  end
  for key in pairs(kept) do call('PEXPIRE', key, RATE_TTL + DAY) end  -- a pool that is not used goes whole
end

local function turns_until(w, lack)    -- ms until so much more is there
  if w.kind == 'bucket' then return math.max(1, math.ceil(lack / math.max(flow(w), 1e-12) - TOLERANCE)) end
  local turns = w.cap > 0 and math.max(1, math.ceil(lack / w.cap - TOLERANCE)) or 1
  return math.max(1, w.ends - w.at) + (turns - 1) * w.period
end

-- ms until `need` fits after `ahead` went, or NEVER or RELEASE. A full window lets through what its margin would not.
local function wait(w, need, ahead)
  if w.kind == 'never' then
    if enough(w, 'left', need, ahead or '0') then return 0 end
    return enough(w, 'free', need, '0') and RELEASE or NEVER
  end
  need = tonumber(need)
  if need > w.cap then
    if not w.provisional then return NEVER end
    need = w.cap
  end
  local lack = math.min(need + margin(w), w.cap) + tonumber(ahead or 0) - w.level
  local blocked = math.max(0, w.blocked - w.at)
  if lack <= TOLERANCE then return blocked end
  if w.kind == 'gauge' then return RELEASE end
  return math.max(blocked, turns_until(w, lack))
end

local function widen(w) w.aimd = math.min(0.15 * w.cap, w.aimd + 0.01 * w.cap) end

local function take(w, amount)
  if w.kind == 'never' then return add(w, 'left', minus(amount)) end
  w.level = w.level - tonumber(amount)
  w.held = w.held + tonumber(amount)
  store(w)
end

local function put_back(w, amount, since)
  -- A fixed window that began anew owes nothing to what was held in the one before.
  if w.kind ~= 'fixed' or since >= w.ends - w.period then w.level = math.min(w.cap, w.level + amount) end
  store(w)
end

local function correct(w, old, new, since)
  if w.kind == 'never' then
    for _, field in ipairs({'left', 'free'}) do add(w, field, old); add(w, field, minus(new)) end
  elseif w.kind ~= 'gauge' then put_back(w, tonumber(old) - tonumber(new), since) end
end

local function finish(w, hold, charge, since)
  if w.kind == 'never' then
    add(w, 'left', hold); add(w, 'left', minus(charge)); add(w, 'free', minus(charge))
    return
  end
  w.held = w.held - tonumber(hold)
  put_back(w, w.kind == 'gauge' and tonumber(hold) or tonumber(hold) - tonumber(charge), since)
end

local function refuse(w, hold, retry_after, drained)
  widen(w)
  if not retry_after then
    retry_after = 1000
    if w.rate > 0 and hold > 0 then retry_after = math.min(60000, hold / w.rate) end
  end
  w.blocked = math.max(w.blocked, w.at + retry_after)
  local lasts = w.kind ~= 'fixed' or w.at + retry_after + ROUNDED_MS >= w.ends
  if drained and lasts and w.kind ~= 'gauge' then
    w.level = math.min(w.level, w.rate > 0 and hold - retry_after * w.rate or 0)
  end
  store(w)
end

local function resize(w, cap)
  if w.kind == 'never' then
    local old = call('HGET', purse(w), 'cap')
    for _, field in ipairs({'left', 'free'}) do add(w, field, minus(old)); add(w, field, cap) end
    call('HSET', purse(w), 'cap', cap)
    return
  end
  if w.kind == 'gauge' then w.level = w.level + cap - w.cap
  elseif w.kind == 'bucket' and w.period > 0 then w.rate = cap / w.period end
  w.cap = cap
  w.level = math.min(w.level, cap)
  store(w)
end

local function learn(w, shown)         -- what vanished since the last reading and was not ours
  local passed = shown.sent_at - w.read_at
  local expected = math.min(w.cap, w.read_left + passed * w.rate) - shown.between
  local unseen = math.max(0, expected - shown.remaining)
  local weight = math.min(1, passed / 20000)
  w.ext = math.min(w.rate, (1 - weight) * w.ext + weight * (unseen / passed))
  w.burst = math.min(0.25 * w.cap, math.max(unseen, 0.9 * w.burst))
end

local function clamp(w, shown)
  local there = shown.remaining - shown.later
  -- Before a call is charged with what it used, its hold would hide what others took.
  local newer = shown.ended and shown.sent_at > w.read_at
  if w.kind == 'bucket' then
    if newer and w.read_at > 0 then learn(w, shown) end
    there = there + (w.at - shown.sent_at) * flow(w)
  end
  if newer then w.read_at, w.read_left = shown.sent_at, shown.remaining end
  there = math.min(w.cap, there)
  if w.cold or there < w.level then w.level = there
  elseif shown.exact or shown.bounded then
    local sure = there - shown.about - (shown.exact and 0 or w.held)
    if sure > w.level then w.level = w.level + RAISE * (sure - w.level) end
  end
  w.cold = false
end

local function turned(w, shown)        -- of all boundaries that are shown the earliest stands, until it is disproved
  if not shown.reset or shown.reset <= 0 then return shown.sent_at >= w.ends - w.period end
  local earliest = shown.sent_at + shown.reset - math.min(ROUNDED_MS, w.period / 10)
  local turns = w.period > 0 and math.max(0, math.floor((w.ends - earliest) / w.period)) or 0
  local latest = w.at + shown.reset + turns * w.period
  if earliest - w.ends > w.period / 2 then w.level, w.cold = w.cap, true end
  if latest < w.ends or earliest > w.ends then w.ends = latest end
  return turns == 0
end

local function chill(w, level)
  store(w); w.level, w.cold = math.min(w.level, level), true
end

local function read(w, shown)          -- lowers the level; the first reading after a cold start may raise it, and one that is exact or bounded
  if shown.remaining == NOT_LIMITED then return end
  store(w)
  if shown.limit and shown.limit > 0 then resize(w, shown.limit) end
  if w.kind == 'fixed' and not turned(w, shown) then return end
  if shown.remaining and w.kind ~= 'gauge' then clamp(w, shown) end
end
