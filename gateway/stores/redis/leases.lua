-- Leases: what is held, and for a while what it came to.
local GRANTED_MS, DISPATCHED_MS, CHARGES_KEPT_MS, MONEY_KEPT_MS, ABOUT_MS = 15000, 60000, 120000, 600000, 500
local TIDIED = 64
local EXPIRES, SENT = POOL .. ':expires', POOL .. ':sent'
local leases = {}                      -- read in this run, by id; false: not there

local function lease(id)
  if leases[id] == nil then
    local packed = call('GET', POOL .. ':lease:' .. id)
    leases[id] = packed and cmsgpack.unpack(packed) or false
  end
  local l = leases[id]
  if not l or (l.ended and now >= l.forget) then return nil end
  return l
end
local function keep(l)
  leases[l.id] = l
  local ttl = l.ended and math.max(1, l.forget - now) or (l.money and MONEY_TTL or RATE_TTL) + 2 * DAY
  call('SET', POOL .. ':lease:' .. l.id, cmsgpack.pack(l), 'PX', string.format('%.0f', ttl))
end

local function send(l)
  l.sent = now
  put('ZADD', SENT, now, l.id)
  put('ZADD', EXPIRES, now + DISPATCHED_MS, l.id)
  keep(l)
end

local function grant(asks, tag, dispatched)
  local entry = {}
  for i, ask in ipairs(asks) do entry[i] = ask[1] end
  for i, ask in ipairs(asks) do
    local l = {id = ask[1], amounts = ask[2], entry = i == 1 and entry or {}, tag = tag, granted = now}
    for name, need in pairs(ask[2]) do
      local w = load(name)
      take(w, need)
      l.money = l.money or w.kind == 'never'
    end
    if dispatched then send(l) else
      put('ZADD', SENT, 'inf', l.id)  -- it will be sent after everything that was
      put('ZADD', EXPIRES, now + GRANTED_MS, l.id)
      keep(l)
    end
  end
end

-- End a lease with these charges, or correct by them what it came to.
local function charge(l, charges)
  local money = false
  for name, new in pairs(charges) do
    local w, old = load(name), l.amounts[name]
    if w then
      money = money or w.kind == 'never'
      if l.ended or not old then correct(w, old or '0', new, l.granted) else finish(w, old, new, l.granted) end
    end
    l.amounts[name] = new
  end
  if not l.ended then
    l.ended, l.forget = true, now + (money and MONEY_KEPT_MS or CHARGES_KEPT_MS)
    call('ZREM', EXPIRES, l.id)
    if not l.sent then call('ZREM', SENT, l.id) end
  end
  keep(l)
end
local function stranger(id)            -- the store was lost between: there is nothing but what is charged now
  return {id = id, amounts = {}, entry = {}, tag = 0, granted = now, ended = true, forget = now + MONEY_KEPT_MS}
end
local function free(l)
  local nothing = {}
  for name in pairs(l.amounts) do nothing[name] = '0' end
  l.sent = nil                         -- asked for again it is granted anew
  charge(l, nothing)
end

local function keep_row(l, row)
  l.row = row
  keep(l)
  call('ZADD', POOL .. ':rows', now, l.id)
  call('HSET', POOL .. ':row', l.id, row)
  call('PEXPIRE', POOL .. ':rows', MONEY_TTL)
  call('PEXPIRE', POOL .. ':row', MONEY_TTL)
end

-- The holder is lost. What was never sent comes back; what was sent may have been used, and stays charged.
local function lapse(l)
  if not l.sent then
    put('HINCRBY', POOL .. ':pool', 'ungrabbed', 1)
    return free(l)
  end
  put('HINCRBY', POOL .. ':pool', 'orphans', 1)
  local names, money = {}, {}
  for name in pairs(l.amounts) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local w = load(name)
    if w and w.kind == 'never' then money[#money + 1] = name .. '=' .. l.amounts[name] end
  end
  charge(l, l.amounts)
  if #money > 0 then keep_row(l, 'orphan:' .. table.concat(money, ',')) end
end

local function fetch(ids)              -- reads those that were not read yet, many at once
  for first = 1, #ids, 500 do
    local keys, wanted = {}, {}
    for i = first, math.min(first + 499, #ids) do
      if leases[ids[i]] == nil then
        wanted[#wanted + 1] = ids[i]
        keys[#keys + 1] = POOL .. ':lease:' .. ids[i]
      end
    end
    local packed = #keys > 0 and call('MGET', unpack(keys)) or {}
    for i, id in ipairs(wanted) do leases[id] = packed[i] and cmsgpack.unpack(packed[i]) or false end
  end
  return ids
end

local function charged(name, after, upto)  -- what calls sent in (after, upto] hold of a window or came to
  local total = 0
  after = math.max(after, now - CHARGES_KEPT_MS)
  for _, id in ipairs(fetch(call('ZRANGEBYSCORE', SENT, '(' .. text(after), upto))) do
    local l = lease(id)
    if l then total = total + tonumber(l.amounts[name] or 0) end
  end
  return total
end

local function read_into(reading)      -- a reading that tells the limit makes a window where there is none or a guess
  local there = load(reading.name)
  if reading.kind == 'never' or (there and there.kind == 'never') then return nil end
  if there and not there.provisional then return there end
  if not reading.limit or reading.limit <= 0 then return there end
  local w = made(reading.name, reading.kind, reading.limit, reading.limit)
  if there then w.held = there.held; w.level = w.level - there.held end
  w.period, w.cold = reading.period, true
  if w.kind == 'bucket' and w.period > 0 then w.rate = w.cap / w.period end
  if w.kind == 'fixed' then w.ends = now + w.period end
  put('SADD', POOL .. ':names', w.name)
  return w
end

local function read_all(l, readings)
  local sent_at = l.sent or l.granted
  for _, reading in ipairs(readings) do
    local w = read_into(reading)
    if w then
      read(w, {remaining = reading.remaining, limit = reading.limit, reset = reading.reset, sent_at = sent_at, ended = l.ended,
               exact = reading.exact, bounded = reading.bounded,
               later = charged(w.name, sent_at, '+inf'), between = charged(w.name, w.read_at, text(sent_at)),
               about = (reading.exact or reading.bounded) and charged(w.name, sent_at - ABOUT_MS, text(sent_at))
                 - (reading.exact and tonumber(l.amounts[w.name] or 0) or 0) or 0})
    end
  end
  if #readings > 0 then call('ZREMRANGEBYSCORE', SENT, '-inf', now - CHARGES_KEPT_MS) end
end
